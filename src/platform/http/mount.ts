import { isDeepStrictEqual } from "node:util";
import { type NextFunction, type Request, type Response, Router } from "express";
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/index.ts";
import { AppError, forbidden, notFound } from "../errors.ts";
import { plainIssue } from "../plain-issues.ts";
import { type Actor, atLeast } from "./actor.ts";
import { sendJson, validationError } from "./answer-error.ts";
import type { Endpoint, JsonEndpoint } from "./endpoint.ts";
import { findKeptAnswer, idempotentRequest } from "./idempotency.ts";
import { readJsonBody, refuseLargeBody } from "./json-body.ts";
import { methodNotAllowed } from "./methods.ts";
import type { RateLimit } from "./rate-limit.ts";
import { sendEvents } from "./send-events.ts";
import { AnsweredBefore, type AuditEntry, createWrites, keepRefusal, type WriteContext } from "./write.ts";

export interface MountOptions {
  db: Database;
  clock: Clock;
  rateLimit: RateLimit;
  /** Who the bearer of this Authorization header is. Throws 401 or 403. */
  authenticate(authorization: string | undefined): Promise<Actor>;
  auditRow(entry: AuditEntry): ReturnType<WriteContext["auditRow"]>;
  /** Aborted when the process begins to stop: streams and long polls end. */
  stopping: AbortSignal;
  /** Checks every answer against its declared shape; for tests and development, since it costs time. */
  checkResponses: boolean;
}

/** The router of the endpoints: authenticate → rate limit → role → parse → handle → answer. */
export function mountEndpoints(endpoints: readonly Endpoint[], options: MountOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.use(refuseLargeBody);
  const methods = new Map<string, Set<string>>();
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1");
    methods.set(path, (methods.get(path) ?? new Set()).add(endpoint.method));
    const register = endpoint.method.toLowerCase() as "get" | "post" | "patch" | "delete";
    router[register](path, (req, res) => answer(endpoint, options, req, res));
  }
  for (const [path, allowed] of methods) {
    // An address can fit several paths: `/agents/validate` is one of its own and also a name.
    router.all(path, (_req: Request, res: Response, next: NextFunction) => {
      res.locals.allowed = [...(res.locals.allowed ?? []), ...allowed];
      next();
    });
  }
  router.use((req, res) => {
    if (res.locals.allowed) throw methodNotAllowed(res.locals.allowed);
    throw notFound(`Nothing is at ${req.baseUrl}${req.path.slice(0, 200)}; see /api/v1/docs.`);
  });
  return router;
}

async function answer(endpoint: Endpoint, options: MountOptions, req: Request, res: Response): Promise<void> {
  res.locals.route = endpoint.path;
  const actor = await options.authenticate(req.headers.authorization);
  res.locals.member = actor.login;
  for (const [name, value] of Object.entries(await options.rateLimit.take(actor.keyId)))
    res.setHeader(name, value);
  if (!atLeast(actor.role, endpoint.role)) {
    throw forbidden(`This needs the role ${endpoint.role}; ask a workspace admin for it.`);
  }
  if (endpoint.body) await readJsonBody(req, res);
  const context = writeContext(endpoint, options, actor, req, res);
  const request = {
    actor,
    params: check(endpoint.params, req.params, "path"),
    query: check(endpoint.query, req.query, "query"),
    body: check(endpoint.body, req.body, "body"),
    write: createWrites(context),
    // Most handlers never wait; making a signal for each request costs more than routing it.
    get signal() {
      return goneSignal(res, options.stopping);
    },
    lastEventId: req.get("last-event-id"),
  };
  if (endpoint.kind === "stream") {
    // Copied once: each reading of `signal` makes a new one.
    const streaming = { ...request, body: undefined };
    await sendEvents(res, await endpoint.handle(streaming), streaming.signal);
    return;
  }
  await answerJson(endpoint, options, context, () => endpoint.handle(request), res);
}

async function answerJson(
  endpoint: JsonEndpoint,
  options: MountOptions,
  context: WriteContext,
  handle: () => Promise<unknown>,
  res: Response,
): Promise<void> {
  const { idempotent } = context;
  try {
    const kept = idempotent && (await findKeptAnswer(options.db, idempotent));
    if (kept) throw new AnsweredBefore(kept);
    const value = await handle();
    if (options.checkResponses) checkAnswer(endpoint, value);
    sendJson(res, endpoint.status, endpoint.status === 204 ? null : JSON.stringify(value));
  } catch (error) {
    if (error instanceof AnsweredBefore) {
      res.setHeader("Idempotency-Replayed", "true");
      sendJson(res, error.kept.status, error.kept.json);
      return;
    }
    if (error instanceof AppError) await keepRefusal(context, error);
    throw error;
  }
}

/** Throws when the answer has another shape than declared; a field that is not declared might be a secret. */
function checkAnswer({ id, response }: JsonEndpoint, value: unknown): void {
  const asSent = (answer: unknown) => (answer === undefined ? undefined : JSON.parse(JSON.stringify(answer)));
  if (!isDeepStrictEqual(asSent(response.parse(value)), asSent(value))) {
    throw new Error(`The answer of ${id} has fields that it does not declare.`);
  }
}

function writeContext(
  endpoint: Endpoint,
  options: MountOptions,
  actor: Actor,
  req: Request,
  res: Response,
): WriteContext {
  const scope = `${actor.workspaceId}\n${actor.login}\n${req.method}\n${req.baseUrl}${req.path}`;
  const creates = endpoint.method === "POST";
  return {
    db: options.db,
    clock: options.clock,
    auditRow: options.auditRow,
    actor,
    action: endpoint.id,
    requestId: res.locals.reqId,
    idempotent: creates ? idempotentRequest(req.get("idempotency-key"), scope, req.body) : undefined,
    status: endpoint.kind === "json" ? endpoint.status : 200,
    serialise: (value) => (endpoint.revealsSecret || value === undefined ? null : JSON.stringify(value)),
  };
}

function check(shape: z.ZodType | undefined, value: unknown, where: "body" | "query" | "path"): unknown {
  if (!shape) {
    const unknown = where === "query" ? Object.keys(value as object) : [];
    if (unknown.length === 0) return undefined;
    throw new AppError(
      400,
      "The query does not fit; see details.",
      unknown.map((path) => ({ path, message: "This field is not known here." })),
    );
  }
  const parsed = shape.safeParse(value, { error: plainIssue });
  if (!parsed.success) throw validationError(parsed.error, where);
  return parsed.data;
}

function goneSignal(res: Response, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  res.once("close", () => gone.abort());
  return AbortSignal.any([gone.signal, stopping]);
}
