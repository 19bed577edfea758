import { randomUUID } from "node:crypto";
import type { Problem, Suite } from "./outcome.ts";
import { plain } from "./plain-text.ts";
import { readEvalId, readRefusal, readSuite } from "./read-suite.ts";

export interface ClientDeps {
  baseUrl: string;
  apiKey: string;
  /** Instant of `now` at which nothing is worth trying any more, milliseconds. */
  deadline: number;
  now(): number;
  sleep(ms: number): Promise<void>;
  /** From 0 to 1; spreads the attempts of many jobs. */
  random(): number;
}

export interface EvalRequest {
  agent: string;
  spec: string;
  eval: string;
  commitSha: string;
}

/** The service has refused a request, or could not be asked in time. */
export class ServiceError extends Error {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly file: "spec" | "eval" | undefined;
  readonly problems: readonly Problem[];

  constructor(message: string, status: number, file?: "spec" | "eval", problems: readonly Problem[] = []) {
    super(message);
    this.name = "ServiceError";
    this.status = status;
    this.file = file;
    this.problems = problems;
  }
}

export type Client = ReturnType<typeof createClient>;

interface Call {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

const mostAttempts = 10;
const longestPause = 60_000;
/** How long one answer may take beyond what it was asked to wait, or beyond the deadline. */
const patienceMs = 10_000;
const longestWait = 30;

/**
 * The service's API. What is answered with 429, 502, 503, 504 or not at all is asked again until the deadline,
 * at most ten times; everything else throws a `ServiceError`.
 */
export function createClient({ baseUrl, apiKey, deadline, now, sleep, random }: ClientDeps) {
  async function call(request: Call): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      const { json, failure, pauseMs } = await once(request, attempt);
      if (!failure) return json;
      const tooLate = pauseMs === undefined || now() + pauseMs >= deadline;
      if (tooLate || attempt >= mostAttempts) throw failure;
      await sleep(pauseMs);
    }
  }

  /** One attempt. A failure with a pause may be tried again after it. */
  async function once({ method, path, headers, body }: Call, attempt: number) {
    const backoff = Math.min(longestPause, 500 * 2 ** attempt) * (0.5 + random() / 2);
    try {
      const response = await fetch(`${baseUrl}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, ...headers },
        ...(body === undefined ? {} : { body }),
        // A redirected POST would become a GET, and the key is for this address only.
        redirect: "manual",
        signal: AbortSignal.timeout(patience(deadline - now())),
      });
      const json = parse(await response.text());
      if (response.ok) return { json };
      return { failure: refusal(response.status, json), pauseMs: pauseOf(response, backoff, random()) };
    } catch (error) {
      return { failure: new ServiceError(unreachable(error), 0), pauseMs: backoff };
    }
  }

  return {
    /** Queues a suite and answers its id. Repeated attempts queue it once. */
    async createEval(request: EvalRequest): Promise<string> {
      const answer = await call({
        method: "POST",
        path: "/evals",
        headers: { "content-type": "application/json", "idempotency-key": randomUUID() },
        body: JSON.stringify({ ...request, source: "ci" }),
      });
      return readEvalId(answer);
    },
    /** The suite once it has ended, or as it is when the deadline is near or half a minute has passed. */
    async getEval(id: string): Promise<Suite> {
      // Never 0, with which the last second would be spent asking over and over.
      const wait = Math.max(1, Math.min(longestWait, Math.floor((deadline - now()) / 1000)));
      return readSuite(await call({ method: "GET", path: `/evals/${id}?wait=${wait}` }));
    },
  };
}

/** How long one answer may take when so much time is left; whole milliseconds, as timers want them. */
const patience = (left: number) => Math.ceil(Math.max(0, Math.min(left, longestWait * 1000)) + patienceMs);

/** How long to wait before the next attempt, milliseconds; undefined when the answer is final. */
function pauseOf({ status, headers }: Response, backoff: number, random: number): number | undefined {
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  // A 409 with Retry-After is an earlier attempt of ours that is still under way.
  const again = [429, 502, 503, 504].includes(status) || (status === 409 && !Number.isNaN(after));
  if (!again) return undefined;
  return Number.isNaN(after) ? backoff : Math.min(longestPause, after * 1000) + random * 1000;
}

function refusal(status: number, answer: unknown): ServiceError {
  const { error, file, problems } = readRefusal(answer);
  if (status >= 300 && status < 400)
    return new ServiceError("The service redirects; set the input base-url to its final address.", status);
  const message = error ?? "Check that the input base-url is the address of the service.";
  return new ServiceError(`The service answered ${status}: ${plain(message)}`, status, file, problems);
}

function unreachable(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown }; message?: string };
  const reason = typeof cause?.code === "string" ? cause.code : (message ?? "no answer");
  return `The service cannot be reached (${plain(reason)}); check the input base-url and that the service runs.`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
