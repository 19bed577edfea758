/** Waiting times between tries, milliseconds. */
export interface Backoff {
  base: number;
  cap: number;
}

/**
 * Exponential with full jitter: anything from 0 to min(cap, base · 2^(attempt − 1)), so that jobs which failed
 * together do not come back together. `attempt` is 1 after the first failure.
 */
export function backoffMs(
  { base, cap }: Backoff,
  attempt: number,
  random: () => number = Math.random,
): number {
  return random() * Math.min(cap, base * 2 ** Math.min(attempt - 1, 40));
}
