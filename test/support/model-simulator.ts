import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ModelKeys } from "../../src/models/index.ts";
import { encodeError, encodeReply, type SimulatedProtocol } from "./model-protocols.ts";

/**
 * A model server for tests: a real HTTP server on a free port that speaks OpenAI's chat completions and
 * Responses API, Anthropic's messages and Google's generateContent, as far as clients read them. Which one is
 * told by the path, so a test says what the model does and any client can be pointed at it:
 *
 *     const simulator = await startModelSimulator();
 *     simulator.script({ toolCalls: [{ name: "CLOCK_NOW", args: {} }] }, { text: "It is noon." });
 *     const resolved = resolveModel("anthropic/claude-sonnet-4-5", simulator.keys);
 *     …
 *     expect(simulator.requests[1]?.body).toMatchObject(…);
 *     await simulator.close();
 *
 * Requests get the scripted replies in order. A request beyond the script is answered 418, which no client
 * retries, so that a forgotten reply shows as what it is.
 */
export interface ModelSimulator {
  /** http://127.0.0.1:PORT, without a path. */
  origin: string;
  /** Keys and base URLs that make every provider use this server. Each key is different. */
  keys: Required<ModelKeys>;
  /** What was asked, oldest first. */
  requests: readonly SimulatedRequest[];
  /** Adds replies to the end of the script. */
  script(...replies: SimulatedReply[]): void;
  /** Resolves with the request of that index (0 is the first) as soon as it has been read completely. */
  request(index: number): Promise<SimulatedRequest>;
  /** How many scripted replies nobody has asked for yet. */
  left(): number;
  /** Cuts open connections and stops listening. */
  close(): Promise<void>;
}

export interface SimulatedRequest {
  protocol: SimulatedProtocol;
  path: string;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of four protocols
  body: any;
  /** Resolves when the client closes the connection before it has the whole answer; otherwise never. */
  aborted: Promise<void>;
}

/** What the model does with one request. Give one of `text`, `toolCalls`, `status`, `raw` or `reset`. */
export interface SimulatedReply {
  text?: string;
  /** `args` is sent as JSON, or as it is when it is text, for arguments that are no JSON. */
  toolCalls?: { name: string; args: unknown; id?: string }[];
  /** Default: 10 in, 5 out, none cached. `cached` is part of `input`. */
  usage?: { input: number; output: number; cached?: number };
  /** `stop`, or `tool-calls` when there are any, by default. `refusal` is a model's own, in `text`. */
  finish?: "stop" | "length" | "content-filter" | "refusal";
  /** An error answer in the protocol's own shape. */
  status?: number;
  headers?: Record<string, string>;
  message?: string;
  /** The error's machine-readable code, for example `insufficient_quota`. */
  code?: string;
  /** This body, with status 200 unless `status` is given: malformed JSON and the like. */
  raw?: string;
  /** Cuts the connection without an answer. */
  reset?: boolean;
  /** Cuts the connection in the middle of the answer. */
  cut?: boolean;
  /** The answer is held back until this resolves. */
  until?: Promise<unknown>;
}

/** Starts a simulator with an empty script. */
export async function startModelSimulator(): Promise<ModelSimulator> {
  const replies: SimulatedReply[] = [];
  const requests: SimulatedRequest[] = [];
  const waiting = new Map<number, PromiseWithResolvers<SimulatedRequest>>();

  const server = createServer((incoming, response) => {
    void record(incoming, response).then(async (request) => {
      if (!request)
        return send(response, 404, { error: { message: "The simulator does not serve this path." } });
      const index = requests.push(request) - 1;
      waiting.get(index)?.resolve(request);
      await respond(request, replies.shift(), incoming, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    keys: keysFor(origin),
    requests,
    script: (...more) => void replies.push(...more),
    left: () => replies.length,
    async request(index) {
      const known = requests[index];
      if (known) return known;
      const promised = waiting.get(index) ?? Promise.withResolvers<SimulatedRequest>();
      waiting.set(index, promised);
      return promised.promise;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function keysFor(origin: string): Required<ModelKeys> {
  return {
    openai: { apiKey: "sk-simulated-openai-0123456789", baseUrl: `${origin}/v1` },
    anthropic: { apiKey: "sk-ant-simulated-0123456789", baseUrl: `${origin}/v1` },
    google: { apiKey: "AIzaSimulatedGoogleKey0123456789abcdef", baseUrl: `${origin}/v1beta` },
    "openai-compatible": { apiKey: "simulated-compatible-key-0123456789", baseUrl: `${origin}/v1` },
    ollama: { baseUrl: origin },
  };
}

async function record(
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<SimulatedRequest | undefined> {
  const aborted = new Promise<void>((resolve) => {
    response.on("close", () => {
      if (!response.writableFinished) resolve();
    });
  });
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const path = incoming.url ?? "";
  const protocol = protocolOf(path);
  if (!protocol) return undefined;
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
  );
  return { protocol, path, headers, body: JSON.parse(Buffer.concat(chunks).toString() || "null"), aborted };
}

function protocolOf(path: string): SimulatedProtocol | undefined {
  const { pathname } = new URL(path, "http://simulator");
  if (pathname.endsWith("/chat/completions")) return "chat-completions";
  if (pathname.endsWith("/responses")) return "responses";
  if (pathname.endsWith("/messages")) return "messages";
  if (pathname.endsWith(":generateContent")) return "generate-content";
  return undefined;
}

async function respond(
  { protocol, body }: SimulatedRequest,
  reply: SimulatedReply | undefined,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!reply) return send(response, 418, encodeError(protocol, 418, "The simulator's script is over."));
  await reply.until;
  if (reply.reset) {
    incoming.socket.resetAndDestroy();
    return;
  }
  if (reply.cut) return cutShort(response, JSON.stringify(encodeReply(protocol, reply, "simulated")));
  if (reply.raw !== undefined) return send(response, reply.status ?? 200, reply.raw, reply.headers);
  if (reply.status !== undefined) {
    const error = encodeError(protocol, reply.status, reply.message ?? `status ${reply.status}`, reply.code);
    return send(response, reply.status, error, reply.headers);
  }
  send(response, 200, encodeReply(protocol, reply, body?.model ?? "simulated"), reply.headers);
}

function cutShort(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
