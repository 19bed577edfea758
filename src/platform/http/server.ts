import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import type { ErrorBody } from "./answer-error.ts";

/** Time for a request's headers, for the whole request, and between requests of a connection; milliseconds. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000 };

/**
 * The HTTP server in front of the app. What it refuses before the app sees a request (broken HTTP, headers
 * over 16 KiB, a request that takes too long) is answered in the shape of all other errors. Not listening yet.
 */
export function createHttpServer(
  app: RequestListener,
  { ids, logger }: { ids: Ids; logger: Logger },
): Server {
  const newest = new WeakMap<Duplex, { req: IncomingMessage; res: ServerResponse }>();
  const refuse = (socket: Duplex, code: string | undefined) => {
    const { status, reason, message } = refusalOf(code);
    const reqId = ids("req");
    logger.info({ reqId, status, code }, "unreadable request");
    socket.end(answerText(`${status} ${reason}`, reqId, { error: message }));
  };
  const serve: RequestListener = (req, res) => {
    newest.set(req.socket, { req, res });
    if (req.headers.host === undefined && req.httpVersion === "1.1") refuse(req.socket, "HOST_MISSING");
    else app(req, res);
  };
  // Node would answer a missing Host and an unknown Expect by itself, without a body.
  const server = createServer({ ...timeouts, requireHostHeader: false }, serve);
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const { req, res } = newest.get(socket) ?? {};
    const underWay = res !== undefined && !res.writableFinished;
    if (!socket.writable || error.code === "ECONNRESET" || (underWay && res.headersSent)) socket.destroy();
    // What cannot be read came after a whole request, which still gets its own answer.
    else if (underWay && req?.complete) res.setHeader("Connection", "close");
    else refuse(socket, error.code);
  });
  return server;
}

function refusalOf(code: string | undefined): { status: number; reason: string; message: string } {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return {
        status: 431,
        reason: "Request Header Fields Too Large",
        message: "The headers are larger than 16 KiB; send less.",
      };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return {
        status: 408,
        reason: "Request Timeout",
        message: "The request took too long to arrive; send it again.",
      };
    case "HOST_MISSING":
      return { status: 400, reason: "Bad Request", message: "Send a Host header." };
    default:
      return { status: 400, reason: "Bad Request", message: "This is not a valid HTTP request." };
  }
}

function answerText(status: string, reqId: string, body: ErrorBody): string {
  const json = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(json)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${reqId}`,
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${json}`;
}
