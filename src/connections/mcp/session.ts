import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import type { McpServer } from "../../settings/index.ts";
import { boundedFetch } from "./bounded-fetch.ts";

/** Calls to one MCP server during one session. */
export interface McpSession {
  listTools(): Promise<Tool[]>;
  /** A request that the server refuses is an answer, too, with `isError`. */
  callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
}

export interface SessionOptions {
  /** Milliseconds that the session may take, all in all. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** A list that never ends must not be read for ever. */
const maxPages = 50;

/** How long saying goodbye may take, milliseconds. */
const goodbyeMs = 1_000;

/**
 * Opens a session over streamable HTTP, has `work` use it and closes it. Rejects when the server cannot be
 * used, within the time there is. The SDK is imported by the first session (some 100 ms).
 */
export async function withMcpSession<T>(
  { url, headers }: McpServer,
  { timeoutMs, signal }: SessionOptions,
  work: (session: McpSession) => Promise<T>,
): Promise<T> {
  const { Client, StreamableHTTPClientTransport, types } = await loadSdk();
  const broken = new AbortController();
  const ending = AbortSignal.any([signal, broken.signal, AbortSignal.timeout(timeoutMs)]);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(ending),
    // A stream that breaks off is not taken up again: the call fails instead.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const client = new Client({ name: "rollcall", version: "1" });
  // The SDK would let a request whose stream has broken wait for its time-out.
  client.onerror = (error) => broken.abort(error);
  const options = { timeout: timeoutMs, signal: ending };
  try {
    await client.connect(transport, options);
    return await work({
      async listTools() {
        const tools: Tool[] = [];
        let cursor: string | undefined;
        for (let page = 0; page < maxPages; page++) {
          const params = cursor === undefined ? {} : { cursor };
          // Not client.listTools, which compiles the server's schemas into code.
          const request = { method: "tools/list" as const, params };
          const answer = await client.request(request, types.ListToolsResultSchema, options);
          tools.push(...answer.tools);
          if (!answer.nextCursor || answer.nextCursor === cursor) break;
          cursor = answer.nextCursor;
        }
        return tools;
      },
      async callTool(name, args) {
        const request = { method: "tools/call" as const, params: { name, arguments: args } };
        try {
          return await client.request(request, types.CallToolResultSchema, options);
        } catch (error) {
          const { ConnectionClosed, RequestTimeout } = types.ErrorCode;
          const answered = error instanceof types.McpError && !ending.aborted;
          if (!answered || error.code === ConnectionClosed || error.code === RequestTimeout) throw error;
          return { isError: true, content: [{ type: "text", text: error.message }] };
        }
      },
    });
  } finally {
    await Promise.race([
      transport.terminateSession().catch(() => {}),
      sleep(goodbyeMs, undefined, { ref: false }),
    ]);
    await client.close();
  }
}

async function loadSdk() {
  const [{ Client }, { StreamableHTTPClientTransport }, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  return { Client, StreamableHTTPClientTransport, types };
}
