import type { FailureCode, RunFailure } from "./failure.ts";
import type { FrameworkDeps } from "./types.ts";

/** A failed model call: how the run would end by it, and whether the same call may work a little later. */
export interface FailedCall {
  failure: RunFailure;
  retryable: boolean;
  /** What the provider asked to wait at least, in milliseconds. */
  retryAfterMs?: number | undefined;
}

export interface RetryPolicy {
  /** How often a call is repeated after it failed. */
  retries: number;
  /** On the clock of `performance.now()`: a wait that would end later is not begun. */
  deadline: number;
  signal: AbortSignal;
  explain(error: unknown): FailedCall;
  /** Told before each wait. */
  onRetry(event: { attempt: number; waitMs: number; code: FailureCode }): void;
}

const firstWaitMs = 2_000;
const longestWaitMs = 60_000;

/**
 * Makes a model call and repeats it after rate limits and outages. This is the only layer that retries model
 * calls. Rejects with the RunFailure of the last attempt, or with the signal's reason as soon as it is aborted.
 */
export async function callWithRetries<T>(
  call: () => PromiseLike<T>,
  policy: RetryPolicy,
  { random, sleep }: Pick<FrameworkDeps, "random" | "sleep">,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      policy.signal.throwIfAborted();
      const failed = policy.explain(error);
      if (!failed.retryable || attempt > policy.retries) throw failed.failure;
      const waitMs = waitBeforeRetry(attempt, failed.retryAfterMs, random());
      if (performance.now() + waitMs >= policy.deadline) throw failed.failure;
      policy.onRetry({ attempt, waitMs, code: failed.failure.code });
      await sleep(waitMs, policy.signal).catch((error: unknown) => {
        policy.signal.throwIfAborted();
        throw error;
      });
    }
  }
}

/**
 * Milliseconds to wait after the attempt with that number failed: exponential backoff with full jitter, on
 * top of what the provider asked for, so that runs which were refused together do not come back together.
 */
export function waitBeforeRetry(attempt: number, retryAfterMs = 0, random: number): number {
  const ceiling = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
  return Math.round(retryAfterMs + random * ceiling);
}
