import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from "@modelcontextprotocol/sdk/types.js";

export interface SimulatedMcpTool {
  name: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
  /** The result of a call, its arguments as text unless given. A call may throw. */
  call?(args: Record<string, unknown>): unknown;
}

/** `stall` never answers; `flood` answers more bytes than anybody wants. */
export type McpFault = { status: number } | "stall" | "flood" | "redirect" | "garbage";

/** An MCP server over streamable HTTP, made with the SDK's own server side, on a free port of loopback. */
export interface McpSimulator {
  url: string;
  tools: SimulatedMcpTool[];
  pageSize: number;
  /** Whether it answers with JSON instead of an event stream. */
  json: boolean;
  /** When set, requests without it in `authorization` get 401. */
  token: string | undefined;
  /** Headers of each POST so far. */
  requests: IncomingHttpHeaders[];
  /** Applies to every request until it is undefined again. */
  fault: McpFault | undefined;
  close(): Promise<void>;
}

export async function startMcpSimulator(): Promise<McpSimulator> {
  const server = createServer((request, response) => {
    void handle(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500).end(String(error));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const simulator: McpSimulator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    tools: [],
    pageSize: 2,
    json: false,
    token: undefined,
    requests: [],
    fault: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  /** Stateless: a server and a transport for each request, as the SDK's own example has it. */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") simulator.requests.push(request.headers);
    if (simulator.fault !== undefined) return breakOff(simulator.fault, response);
    const { token } = simulator;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return void response.writeHead(401).end("who are you?");
    if (request.method !== "POST") return void response.writeHead(405).end();
    const mcp = serverOf(simulator);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: simulator.json,
    });
    response.on("close", () => void mcp.close());
    await mcp.connect(transport);
    await transport.handleRequest(request, response);
  }

  return simulator;
}

function breakOff(fault: McpFault, response: ServerResponse): void {
  if (fault === "stall") return;
  if (fault === "redirect") return void response.writeHead(307, { location: "/elsewhere" }).end();
  if (fault === "garbage") {
    return void response.writeHead(200, { "content-type": "application/json" }).end("{nonsense");
  }
  if (fault === "flood") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let chunks = 0; chunks < 10; chunks++) response.write(`: ${"x".repeat(1024 * 1024)}\n`);
    return;
  }
  response.writeHead(fault.status).end("the server's own words");
}

function serverOf(simulator: McpSimulator): Server {
  const server = new Server({ name: "simulator", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const to = from + simulator.pageSize;
    const page = simulator.tools.slice(from, to).map(
      ({ name, description, inputSchema }): Tool => ({
        name,
        ...(description === undefined ? {} : { description }),
        inputSchema: { type: "object", ...inputSchema },
      }),
    );
    return { tools: page, ...(to < simulator.tools.length ? { nextCursor: String(to) } : {}) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }) => {
    const tool = simulator.tools.find((each) => each.name === name);
    if (!tool) throw new Error(`Unknown tool ${name}`);
    const result = tool.call?.(args) ?? { content: [{ type: "text", text: JSON.stringify(args) }] };
    return result as { content: [] };
  });
  return server;
}
