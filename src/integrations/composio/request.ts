import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Redactor } from "../../platform/redact.ts";
import { shortLine } from "../../platform/short-line.ts";
import { IntegrationFailure } from "../failure.ts";

export interface ComposioDeps {
  clock: Clock;
  redactor: Redactor;
  /** Another address of the API, without a path at its end; Composio's own when undefined. */
  composioUrl?: string | undefined;
  /** Milliseconds that a call may take; see `timeouts` for those it has otherwise. */
  timeouts?: Partial<Timeouts>;
}

interface Timeouts {
  read: number;
  write: number;
  /** Tools do real work. */
  execute: number;
}

const timeouts: Timeouts = { read: 10_000, write: 15_000, execute: 120_000 };

export interface ComposioCall<S extends z.ZodType> {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the base address, its parts encoded. */
  path: string;
  /** What is undefined is left out; lists are sent as one text with commas. */
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: unknown;
  answer: S;
  timeout?: keyof Timeouts;
  signal?: AbortSignal | undefined;
}

export type ComposioRequest = <S extends z.ZodType>(call: ComposioCall<S>) => Promise<z.infer<S>>;

const defaultUrl = "https://backend.composio.dev";
const apiPath = "/api/v3.1";

/** A page of a thousand tools has a few megabytes. */
const maxAnswerBytes = 32 * 1024 * 1024;

/** A read that is told to come back within this time does so, once. */
const longestWaitMs = 5_000;

/** What Composio says of a refusal, as far as it is known. */
const Refusal = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

/**
 * One call to Composio: a key, a time-out, no redirects, and an answer that is checked. Rejects with
 * IntegrationFailure, or with the signal's reason once that is aborted.
 */
export function createComposioRequest(
  { clock, redactor, composioUrl = defaultUrl, timeouts: given }: ComposioDeps,
  apiKey: string,
): ComposioRequest {
  const limits = { ...timeouts, ...given };

  async function send(call: ComposioCall<z.ZodType>): Promise<{ response: Response; text: string }> {
    const { method, path, body, signal } = call;
    const timeout = AbortSignal.timeout(limits[call.timeout ?? (method === "GET" ? "read" : "write")]);
    try {
      const response = await fetch(`${composioUrl}${apiPath}${path}${queryText(call.query)}`, {
        method,
        headers: {
          accept: "application/json",
          "x-api-key": apiKey,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        // A redirect would carry the key to an address that nobody chose.
        redirect: "error",
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      return { response, text: await readText(response) };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof IntegrationFailure) throw error;
      const reason = timeout.aborted ? "did not answer in time" : "cannot be reached";
      throw new IntegrationFailure("unavailable", `Composio ${reason}; try again later.`, { cause: error });
    }
  }

  function failureOf({ status, headers }: Response, text: string): IntegrationFailure {
    if (status === 401 || status === 403)
      return new IntegrationFailure(
        "unauthorised",
        "Composio does not accept the workspace's API key; ask a workspace admin to set it again.",
      );
    if (status === 429)
      return new IntegrationFailure("rate_limited", "Composio limits the rate of calls; try again later.", {
        retryAt: clock() + retryAfterMs(headers.get("retry-after"), clock()),
      });
    if (status >= 500 || status < 400)
      return new IntegrationFailure("unavailable", `Composio answered ${status}; try again later.`);
    const said = saying(text);
    const message = `Composio declined (${status})${said && `: ${shortLine(redactor.scrub(said), 300)}`}`;
    return new IntegrationFailure(status === 404 ? "not_found" : "refused", message);
  }

  return async (call) => {
    for (let attempt = 1; ; attempt++) {
      const { response, text } = await send(call);
      if (response.ok) return decode(call.answer, text);
      const failure = failureOf(response, text);
      const waitMs = (failure.retryAt ?? Number.POSITIVE_INFINITY) - clock();
      if (call.method !== "GET" || attempt > 1 || waitMs > longestWaitMs) throw failure;
      await sleep(Math.max(0, waitMs), undefined, call.signal ? { signal: call.signal } : {}).catch(() => {});
      call.signal?.throwIfAborted();
    }
  };
}

function queryText(query: ComposioCall<z.ZodType>["query"] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value));
  }
  return given.size > 0 ? `?${given}` : "";
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes)
      throw new IntegrationFailure("unavailable", "Composio's answer is too large to read.");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function decode<S extends z.ZodType>(schema: S, text: string): z.infer<S> {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new IntegrationFailure("unavailable", "Composio gave an answer that Rollcall cannot read.");
}

/** No text is null, as a 204 answers. */
function parseJson(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function saying(text: string): string {
  const refusal = Refusal.safeParse(parseJson(text));
  if (!refusal.success) return "";
  const { error } = refusal.data;
  return typeof error === "string" ? error : error.message;
}

/** Seconds or a date; a minute when it is neither. */
function retryAfterMs(value: string | null, now: number): number {
  const text = value?.trim() ?? "";
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 60_000 : Math.max(0, date - now);
}
