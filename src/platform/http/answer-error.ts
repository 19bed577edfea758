import type { ErrorRequestHandler, Response } from "express";
import type { z } from "zod";
import { isDatabaseAway } from "../db/index.ts";
import { AppError, badRequest, unavailable } from "../errors.ts";
import type { Logger } from "../logger.ts";

/** Every error body has this shape and nothing else. */
export interface ErrorBody {
  error: string;
  details?: unknown;
}

export function errorBody(error: AppError): ErrorBody {
  return error.details === undefined
    ? { error: error.message }
    : { error: error.message, details: error.details };
}

/** Turns anything thrown into an answer. What was not thrown for the client becomes a 500 without its cause. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof URIError) return new AppError(400, "The address has a malformed percent sequence.");
  if (isDatabaseAway(error)) return unavailable("The database cannot be reached; try again shortly.", 2);
  return new AppError(
    500,
    "Something went wrong inside Rollcall; an admin finds the cause in the log under this request's id.",
  );
}

/** A refused request, with one `{path, message}` for each thing that does not fit. */
export function validationError(error: z.ZodError, where: "body" | "query" | "path"): AppError {
  const details = error.issues.flatMap((issue) => {
    const path = issue.path.map(String).join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({
      path: path ? `${path}.${key}` : key,
      message: "This field is not known here.",
    }));
  });
  return badRequest(`The ${where} does not fit; see details.`, details);
}

/** Last in the chain of an Express app. */
export function answerErrors(logger: Logger): ErrorRequestHandler {
  return (thrown, _req, res, next) => {
    const error = toAppError(thrown);
    if (error.status >= 500) logger.error({ err: thrown, reqId: res.locals.reqId }, "request failed");
    if (res.headersSent) {
      next(thrown);
      return;
    }
    sendError(res, error);
  };
}

export function sendError(res: Response, error: AppError): void {
  for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value);
  sendJson(res, error.status, JSON.stringify(errorBody(error)));
}

/** `json` is the text of the body; null for none. */
export function sendJson(res: Response, status: number, json: string | null): void {
  res.statusCode = status;
  res.setHeader("Cache-Control", "no-store");
  if (json === null) {
    res.end();
    return;
  }
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
