import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { ModelKeys } from "../../src/models/index.ts";
import { encodeError, encodeStreamError, protocolOf, type SimulatedError } from "./model-protocols.ts";
import {
  encodeStream,
  type SimulatedAnswer,
  type SimulatedEvent,
  type SimulatedProtocol,
  serverSentEvent,
} from "./model-streams.ts";

/**
 * A model server for tests: a real HTTP server on a free port that speaks OpenAI's chat completions and
 * Responses API, Anthropic's messages and Google's streamGenerateContent, as far as clients read them. Answers are
 * streams: text and arguments come in several pieces, as each provider's own events. Which API is meant is told by
 * the path, so a test says what the model does and any client can be pointed at it:
 *
 *     const simulator = await startModelSimulator();
 *     simulator.script({ toolCalls: [{ name: "CLOCK_NOW", args: {} }] }, { text: "It is noon." });
 *     const resolved = resolveModel("anthropic/claude-sonnet-4-5", simulator.keys);
 *     …
 *     expect(simulator.requests[1]?.body).toMatchObject(…);
 *     await simulator.close();
 *
 * Requests get the scripted replies in order. A request beyond the script is answered 418, which no client
 * retries, so that a forgotten reply shows as what it is. So is one that does not ask for a stream.
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

/** What the model does with one request. Give what it says, or one of `status`, `raw`, `events` and `reset`. */
export interface SimulatedReply extends SimulatedAnswer, Partial<SimulatedError> {
  /** An error answer in the protocol's own shape, with `message` and `code`. */
  status?: number;
  headers?: Record<string, string>;
  /** This body, with status 200 and as JSON unless `status` and `headers` say otherwise. */
  raw?: string;
  /** These events, with nothing around them. */
  events?: Record<string, unknown>[];
  /** Cuts the connection without an answer. */
  reset?: boolean;
  /** The answer is held back until this resolves. */
  until?: Promise<unknown>;
  /** The stream stops in the middle until this resolves. */
  stallUntil?: Promise<unknown>;
  /** What comes in the middle instead of the rest. */
  midway?: Midway;
}

/**
 * The connection is cut; the stream ends in good order; it ends with everything but what makes the answer complete;
 * an event is no JSON; or the provider reports an error. An error's `status` is told by Google alone.
 */
type Midway = "cut" | "end" | "no-end" | "malformed" | (SimulatedError & { status: number });

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

async function respond(
  { protocol, body }: SimulatedRequest,
  reply: SimulatedReply | undefined,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refuse = (message: string) => send(response, 418, encodeError(protocol, 418, { message }));
  if (!reply) return refuse("The simulator's script is over.");
  if (protocol !== "generate-content" && body?.stream !== true) return refuse("The simulator only streams.");
  await reply.until;
  if (reply.reset) {
    incoming.socket.resetAndDestroy();
    return;
  }
  if (reply.raw !== undefined) return send(response, reply.status ?? 200, reply.raw, reply.headers);
  if (reply.status !== undefined) {
    const { status, message = `status ${status}`, code } = reply;
    return send(response, status, encodeError(protocol, status, { message, code }), reply.headers);
  }
  await stream(protocol, body, reply, response);
}

async function stream(
  protocol: SimulatedProtocol,
  request: SimulatedRequest["body"],
  reply: SimulatedReply,
  response: ServerResponse,
): Promise<void> {
  const { stallUntil, midway } = reply;
  const { body: events, end } = reply.events
    ? { body: reply.events.map(serverSentEvent), end: [] }
    : encodeStream(protocol, reply, request);
  const middle = stallUntil || midway ? Math.ceil(events.length / 2) : events.length;
  response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
  await write(response, events.slice(0, middle));
  await stallUntil;
  if (midway === "cut") {
    response.destroy();
    return;
  }
  if (midway === "malformed") await write(response, ['data: {"type": "cut off here\n\n']);
  else if (midway === "no-end") await write(response, events.slice(middle));
  else if (typeof midway === "object")
    await write(response, [encodeStreamError(protocol, midway.status, midway)]);
  else if (!midway) await write(response, [...events.slice(middle), ...end]);
  response.end();
}

/** Event by event, so that clients read them one after the other. */
async function write(response: ServerResponse, events: readonly SimulatedEvent[]): Promise<void> {
  for (const event of events) {
    response.write(event);
    await setImmediate();
  }
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
