import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RunFailure } from "../../../src/frameworks/index.ts";
import { callWithRetries, waitBeforeRetry } from "../../../src/frameworks/retry.ts";

describe("waitBeforeRetry", () => {
  it("adds up to 2 s, 4 s, 8 s … 60 s to what the provider asks for", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.option(fc.nat({ max: 100_000 }), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, retryAfterMs, random) => {
          const wait = waitBeforeRetry(attempt, retryAfterMs, random);
          const floor = retryAfterMs ?? 0;
          expect(wait).toBeGreaterThanOrEqual(floor);
          expect(wait).toBeLessThanOrEqual(floor + Math.min(60_000, 2_000 * 2 ** (attempt - 1)));
          expect(Number.isInteger(wait)).toBe(true);
        },
      ),
    );
    expect([1, 2, 3, 6, 40].map((attempt) => waitBeforeRetry(attempt, undefined, 0.5))).toEqual([
      1_000, 2_000, 4_000, 30_000, 30_000,
    ]);
  });
});

describe("callWithRetries", () => {
  const failure = new RunFailure("model_unavailable", "status 500");

  const policy = {
    retries: 1,
    deadline: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    explain: () => ({ failure, retryable: true }),
    onRetry() {},
  };

  it("passes a failure of the sleep on when nothing was aborted", async () => {
    const broken = new Error("no timers");
    const deps = { random: () => 0, sleep: () => Promise.reject(broken) };
    await expect(callWithRetries(() => Promise.reject(new Error("500")), policy, deps)).rejects.toBe(broken);
  });

  it("rejects with the reason of the abort, not with what the call made of it", async () => {
    const stop = new AbortController();
    const call = async () => {
      stop.abort(new Error("cancelled"));
      throw new Error("socket closed");
    };
    const deps = { random: () => 0, sleep: async () => {} };
    await expect(callWithRetries(call, { ...policy, signal: stop.signal }, deps)).rejects.toThrow(
      "cancelled",
    );
  });
});
