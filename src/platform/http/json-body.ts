import express, { type Request, type RequestHandler, type Response } from "express";
import { AppError, badRequest } from "../errors.ts";

const maxBytes = 1024 * 1024;
const maxDepth = 64;
const maxNodes = 20_000;

const parse = express.json({
  limit: maxBytes,
  strict: false,
  inflate: false,
  type: () => true,
  verify: checkShape,
});

/**
 * Reads a JSON body of at most 1 MiB into `req.body` and its bytes' text into nothing else. Depth and size
 * are counted before the text is parsed: deep nesting parses fast but blows the stack of whatever walks it.
 */
export function readJsonBody(req: Request, res: Response): Promise<void> {
  if (!isJson(req.headers["content-type"])) {
    throw new AppError(415, "Send the body as JSON with Content-Type: application/json.");
  }
  return new Promise((resolve, reject) => {
    parse(req, res, (error?: unknown) => (error ? reject(fromParser(error)) : resolve()));
  });
}

/** Routes that take no body still refuse one that would be too large to skip. */
export const refuseLargeBody: RequestHandler = (req, _res, next) => {
  const tooLarge = Number(req.headers["content-length"] ?? 0) > maxBytes;
  next(tooLarge ? new AppError(413, "The body is larger than 1 MiB; send less.") : undefined);
};

function isJson(contentType: string | undefined): boolean {
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith("charset="));
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  return type.trim() === "application/json" && utf8;
}

function checkShape(_req: unknown, _res: unknown, bytes: Buffer): void {
  // The parser takes no text at all for {}.
  if (bytes.length === 0) throw badRequest("The body is empty; send JSON.");
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("The body is not valid UTF-8.");
  }
  let depth = 0;
  let nodes = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    else if (byte === 0x2c) nodes++;
    if (depth > maxDepth) throw badRequest(`The body is nested deeper than ${maxDepth} levels.`);
    if (nodes > maxNodes) throw badRequest(`The body has more than ${maxNodes} values.`);
  }
}

function fromParser(error: unknown): unknown {
  // body-parser wraps what verify throws and keeps it in no field; the message is ours.
  const { type, message, status } = error as { type?: string; message?: string; status?: number };
  if (error instanceof AppError) return error;
  switch (type) {
    case "entity.too.large":
      return new AppError(413, "The body is larger than 1 MiB; send less.");
    case "entity.verify.failed":
      return badRequest(message ?? "The body is not acceptable.");
    case "encoding.unsupported":
    case "charset.unsupported":
      return new AppError(415, "Send the body uncompressed and in UTF-8.");
    case "request.aborted":
    case "request.size.invalid":
      return badRequest("The body ended early.");
    default:
      return status === 400 ? badRequest("The body is not valid JSON.") : error;
  }
}
