import { once } from "node:events";
import { connect } from "node:net";

export interface RawAnswer {
  status: number;
  /** By lower-case name. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface RawRequest {
  method?: string;
  /** Sent as it is: no client tidies it up. */
  target: string;
  /** Header lines beside Host and Connection. Content-Length is among them only when given here or `body` is. */
  headers?: readonly string[];
  body?: Uint8Array | string;
}

/** One request, byte for byte, over a connection of its own. */
export function rawRequest(
  port: number,
  { method = "GET", target, headers = [], body }: RawRequest,
): Promise<RawAnswer> {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const length = bytes === undefined ? [] : [`Content-Length: ${bytes.byteLength}`];
  const head = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...length,
    ...headers,
  ];
  const text = Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1");
  return sendBytes(port, bytes === undefined ? text : Buffer.concat([text, bytes]));
}

/** Writes bytes to a new connection and reads what comes back until the server closes it. Takes the first answer. */
export async function sendBytes(port: number, bytes: Uint8Array | string): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // A server that refuses a request before it has read all of it may reset the connection after its answer.
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  if (!socket.closed) await once(socket, "close");
  return parseAnswer(Buffer.concat(chunks));
}

function parseAnswer(bytes: Buffer): RawAnswer {
  const text = bytes.toString("utf8");
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1] ?? Number.NaN);
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const rest = text.slice(end + 4);
  const length = Number(headers["content-length"] ?? Number.NaN);
  const body = Number.isNaN(length) ? rest : Buffer.from(rest).subarray(0, length).toString();
  return { status, headers, body };
}
