import type { IRouter, RequestHandler } from "express";
import { AppError } from "../errors.ts";

/** 405 for an address that takes these methods. Where GET works, HEAD does. */
export function methodNotAllowed(methods: Iterable<string>): AppError {
  const allowed = new Set(methods);
  if (allowed.has("GET")) allowed.add("HEAD");
  const allow = [...allowed].sort().join(", ");
  return new AppError(405, `This address takes ${allow}.`, undefined, { Allow: allow });
}

/** Serves what can only be read. */
export function serveGet(router: IRouter, path: string, handler: RequestHandler): void {
  router.get(path, handler);
  router.all(path, () => {
    throw methodNotAllowed(["GET"]);
  });
}
