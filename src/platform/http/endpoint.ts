import type { z } from "zod";
import type { Rows, Tx } from "../db/index.ts";
import type { Actor, Role } from "./actor.ts";

/** The answer of a write and what the audit log says of it. */
export interface Written<T> {
  answer: T;
  /** Identifier of what was written. */
  target: string;
  /** What was changed, without secrets. */
  details?: Record<string, unknown>;
}

/**
 * How a handler changes something. Either form commits the change together with its audit entry and, when
 * the request has an Idempotency-Key, with the answer that a repetition gets.
 */
export interface Writes {
  transaction<T>(work: (tx: Tx) => Promise<Written<T>>): Promise<T>;
  /** For intake: plain rows, committed in a group with those of other requests. `committed` runs after the commit. */
  insert<T>(written: Written<T> & { rows: Rows; committed?: () => void }): Promise<T>;
}

export interface ApiRequest<P, Q, B> {
  actor: Actor;
  params: P;
  query: Q;
  body: B;
  write: Writes;
  /** Aborted when the client has gone or the process is stopping. */
  signal: AbortSignal;
  /** The `Last-Event-ID` of a client that takes up a stream again. */
  lastEventId: string | undefined;
}

/** One message of an event stream; `data` is sent as JSON. */
export interface StreamEvent {
  id: string;
  event: string;
  data: unknown;
}

interface Common<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below /api/v1, parameters in braces: `/runs/{id}`. */
  path: string;
  /** Name in the OpenAPI document and, for writes, the action in the audit log. */
  id: string;
  tag: string;
  /** The weakest role that may call it. */
  role: Role;
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  /** The answer holds a secret: it is never stored, so a repeated Idempotency-Key gets 409. */
  revealsSecret?: true;
}

export interface JsonEndpoint<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
> extends Common<P, Q, B> {
  kind: "json";
  status: 200 | 201 | 202 | 204;
  response: R;
  handle(request: ApiRequest<z.infer<P>, z.infer<Q>, z.infer<B>>): Promise<z.input<R>>;
}

export interface StreamEndpoint<P extends z.ZodType = z.ZodType, Q extends z.ZodType = z.ZodType>
  extends Common<P, Q, z.ZodUndefined> {
  kind: "stream";
  /** What the first answer needs is done before the promise settles, so errors still get their status. */
  handle(request: ApiRequest<z.infer<P>, z.infer<Q>, undefined>): Promise<AsyncIterable<StreamEvent>>;
}

export type Endpoint = JsonEndpoint | StreamEndpoint;

/**
 * Declares an operation once. The router, the OpenAPI document and the role matrix all come from the list of
 * these.
 */
export function defineEndpoint<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  R extends z.ZodType,
>(endpoint: Omit<JsonEndpoint<P, Q, B, R>, "kind">): Endpoint {
  return { ...endpoint, kind: "json" } as unknown as Endpoint;
}

/** Declares an operation that answers with server-sent events. */
export function defineStream<P extends z.ZodType, Q extends z.ZodType>(
  endpoint: Omit<StreamEndpoint<P, Q>, "kind">,
): Endpoint {
  return { ...endpoint, kind: "stream" } as unknown as Endpoint;
}
