import type { RequestHandler } from "express";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";

export type RequestObserver = (method: string, route: string, status: number, durationMs: number) => void;

/**
 * First in the chain: gives each request its id (the caller's own when it is harmless), answers it as
 * `X-Request-Id` and logs one line when the request is done. Queries are not logged: they may hold anything.
 */
export function requestLog(logger: Logger, ids: Ids, observe: RequestObserver): RequestHandler {
  return (req, res, next) => {
    const startedAt = performance.now();
    const given = req.headers["x-request-id"];
    const reqId = typeof given === "string" && /^[\w.-]{1,100}$/.test(given) ? given : ids("req");
    res.locals.reqId = reqId;
    res.setHeader("X-Request-Id", reqId);
    const { method, path } = req;
    res.once("close", () => {
      const ms = performance.now() - startedAt;
      const status = res.writableFinished ? res.statusCode : 499;
      const route: string = res.locals.route ?? "other";
      observe(method, route, status, ms);
      logger.info(
        {
          reqId,
          method,
          path: path.slice(0, 200),
          status,
          ms: Math.round(ms * 10) / 10,
          member: res.locals.member,
        },
        "request",
      );
    });
    next();
  };
}
