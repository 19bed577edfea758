import { APICallError, InvalidResponseDataError } from "ai";

/** What providers call their errors, as the HTTP status that goes with it. The first that fits. */
const statusOfWord: readonly (readonly [RegExp, number])[] = [
  [/invalid_api_key|unauthorized|unauthenticated|authentication/, 401],
  [/billing|insufficient_balance/, 402],
  [/permission|forbidden/, 403],
  [/insufficient_quota|rate_limit|too_many_requests|resource_exhausted/, 429],
  [/overloaded|unavailable/, 503],
  [/timeout/, 504],
  [/not_found/, 404],
  [/invalid|bad_request|context_length|content_policy|content_filter|too_large/, 400],
];

/** An error that a provider reports in a stream: as clients pass it on, or as it was sent. */
interface ReportedError {
  message?: unknown;
  type?: unknown;
  code?: unknown;
  statusCode?: unknown;
  /** What was sent, where the rest is a client's reading of it. */
  data?: unknown;
}

/**
 * What a client's part of the type `error` stands for. An error that the provider reports counts as if it had been
 * its HTTP status, although the stream began with 200.
 */
export function streamError(error: unknown, url: string): Error {
  // A client that finds no end of the answer has no data to show for it.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return brokenStream(url);
  if (error instanceof Error) return error;
  const reported: ReportedError = typeof error === "object" && error !== null ? error : { message: error };
  return new APICallError({
    message: `Reported in the middle of the answer: ${reported.message}`,
    url,
    requestBodyValues: {},
    statusCode: statusOf(reported),
    responseBody: JSON.stringify(reported.data ?? reported),
  });
}

/** A stream that ended before the answer did. The same call may work. */
export function brokenStream(url: string): APICallError {
  return new APICallError({
    message: "The stream ended before the answer was complete.",
    url,
    requestBodyValues: {},
    statusCode: 200,
    isRetryable: true,
  });
}

function statusOf({ type, code, statusCode }: ReportedError): number {
  const words = `${type} ${code}`.toLowerCase();
  const [, status] = statusOfWord.find(([word]) => word.test(words)) ?? [];
  if (status !== undefined) return status;
  const given = [code, statusCode].map(Number).find((number) => number >= 400 && number <= 599);
  return given ?? 500;
}
