import { AppError, badRequest } from "../platform/errors.ts";
import type { HookRequest } from "../platform/http/index.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Throws 415 unless the body says that it is JSON in UTF-8, or says nothing. */
export function requireJson(header: HookRequest["header"]): void {
  if (header("content-encoding") !== undefined)
    throw new AppError(415, "Send the body uncompressed, without Content-Encoding.");
  const contentType = header("content-type");
  if (contentType === undefined) return;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith("charset="));
  const isJson = /^application\/(?:[\w.+-]+\+)?json$/.test(type.trim());
  if (!isJson || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)))
    throw new AppError(415, "Send JSON in UTF-8 with Content-Type: application/json.");
}

/** The text of a body that is one JSON value of any kind. Throws 400. */
export function readJson(bytes: Buffer): string {
  if (bytes.length === 0) throw badRequest("The body is empty; send JSON.");
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw badRequest("The body is not valid UTF-8.");
  }
  try {
    JSON.parse(text);
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
  return text;
}
