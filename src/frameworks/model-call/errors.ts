import { AISDKError, APICallError, LoadAPIKeyError } from "ai";
import type { ModelConnection } from "../../models/index.ts";
import { createRedactor } from "../../platform/redact.ts";
import { type FailureCode, RunFailure } from "../failure.ts";
import type { FailedCall } from "../retry.ts";

const longestDetails = 2_048;

/** How `fetch` reports that nothing came for five minutes: no answer, or no more of it. */
const silences: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/**
 * Translates anything that a model call can throw. The details are a short trace for workspace admins: status,
 * the provider's words, the address without its query, and the beginning of the answer, without the key.
 */
export function explainError(error: unknown, connection: ModelConnection): FailedCall {
  if (error instanceof RunFailure) return { failure: error, retryable: false };
  if (APICallError.isInstance(error)) return explainApiError(error, connection);
  const details = clean(describe(error), connection);
  if (LoadAPIKeyError.isInstance(error)) return fail("model_not_configured", details, error);
  // What is left of the SDK's own errors says that an answer could not be understood.
  if (AISDKError.isInstance(error)) return fail("model_unavailable", details, error);
  return fail("internal", details, error);
}

/** The details of a failure that the provider did not report as an error, for example a withheld answer. */
export function cleanDetails(text: string, connection: ModelConnection): string {
  return clean(text, connection);
}

function explainApiError(error: APICallError, connection: ModelConnection): FailedCall {
  const body = error.responseBody ?? "";
  const quotaUsedUp = isQuotaUsedUp(error.statusCode, body);
  const retryAfterMs = retryAfter(error.responseHeaders ?? {}, body);
  const failed = fail(
    codeOf(error.statusCode, body, quotaUsedUp),
    clean(traceOf(error, connection), connection),
    error,
  );
  return {
    ...failed,
    // A used-up quota stays used up, unless the provider itself says when to come back.
    retryable: isPassing(error) && (!quotaUsedUp || retryAfterMs !== undefined),
    retryAfterMs,
  };
}

function codeOf(status: number | undefined, body: string, quotaUsedUp: boolean): FailureCode {
  if (status === 429 || quotaUsedUp) return "model_rate_limited";
  // Google answers 400 for a wrong key.
  if (status === 401 || status === 403 || (status === 400 && /API_KEY_INVALID/.test(body)))
    return "model_auth";
  if (
    status === 400 &&
    /content_policy|content_filter|usage polic(?:y|ies)|invalid_prompt|safety system/i.test(body)
  ) {
    return "model_refused";
  }
  return "model_unavailable";
}

function isQuotaUsedUp(status: number | undefined, body: string): boolean {
  if (status === 402) return true;
  return (
    (status === 400 || status === 403 || status === 429) &&
    /insufficient_quota|insufficient[ _]balance|billing|credit balance|spend(?:ing)? (?:cap|limit)/i.test(
      body,
    )
  );
}

/**
 * Rate limits, outages and broken connections pass; an answer that was read but makes no sense does not. Nor
 * does silence: the provider may have worked, and charged, all that time.
 */
function isPassing({ statusCode, isRetryable, cause }: APICallError): boolean {
  if (isSilence(cause)) return false;
  if (statusCode === undefined || statusCode < 400) return isRetryable;
  return statusCode === 429 || statusCode >= 500;
}

/** In the middle of an answer it is the cause of a cause. */
function isSilence(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  return ("code" in cause && silences.has(cause.code)) || isSilence(cause.cause);
}

function retryAfter(headers: Record<string, string>, body: string): number | undefined {
  const header = headers["retry-after"];
  if (header === undefined) {
    // Google has it in the body: "retryDelay": "34s".
    const seconds = /"retryDelay":\s*"([\d.]+)s"/.exec(body)?.[1];
    return seconds === undefined ? undefined : Number(seconds) * 1_000;
  }
  const waitMs = /^\s*\d+(?:\.\d+)?\s*$/.test(header)
    ? Number(header) * 1_000
    : Date.parse(header) - Date.now();
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

function traceOf(
  { statusCode, message, url, responseBody, cause }: APICallError,
  { ref }: ModelConnection,
): string {
  const address = URL.parse(url);
  const where = address ? `${address.origin}${address.pathname}` : "the provider";
  const lines = [
    `${ref}: ${statusCode === undefined ? "no answer" : `status ${statusCode}`} from ${where}`,
    message,
  ];
  if (cause instanceof Error && !message.includes(cause.message)) lines.push(describe(cause));
  if (responseBody) lines.push(responseBody);
  return lines.join("\n");
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function clean(text: string, { apiKey }: ModelConnection): string {
  const redactor = createRedactor();
  redactor.register(apiKey);
  // Scrubbed before it is cut: half a key would not be recognised.
  return redactor.scrub(text).slice(0, longestDetails);
}

function fail(code: FailureCode, details: string, cause: unknown): FailedCall {
  return { failure: new RunFailure(code, details, { cause }), retryable: false };
}
