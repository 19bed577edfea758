import { type AppError, unavailable, unprocessable } from "../platform/errors.ts";

/** Why a provider did not do what it was asked. */
export type IntegrationFailureKind =
  /** The workspace's API key is not accepted. */
  | "unauthorised"
  /** Too many calls; see `retryAt`. */
  | "rate_limited"
  | "not_found"
  /** Understood and declined; the message says why. */
  | "refused"
  /** Not reached, too slow, broken, or an answer that nobody can read. */
  | "unavailable";

/**
 * Thrown by integration clients. `message` is one sentence without credentials, safe for every member; it may
 * quote the provider, in bounds. `retryAt` is in epoch milliseconds.
 */
export class IntegrationFailure extends Error {
  readonly kind: IntegrationFailureKind;
  readonly retryAt: number | undefined;

  constructor(
    kind: IntegrationFailureKind,
    message: string,
    options?: { cause?: unknown; retryAt?: number },
  ) {
    super(message, options);
    this.name = "IntegrationFailure";
    this.kind = kind;
    this.retryAt = options?.retryAt;
  }
}

/** The failure as the API answers it. `now` in epoch milliseconds. */
export function answerFor(failure: IntegrationFailure, now: number): AppError {
  switch (failure.kind) {
    case "unauthorised":
    case "not_found":
    case "refused":
      return unprocessable(failure.message);
    case "rate_limited":
    case "unavailable": {
      const seconds = Math.ceil(((failure.retryAt ?? now + 5_000) - now) / 1_000);
      return unavailable(failure.message, Math.min(600, Math.max(1, seconds)));
    }
  }
}
