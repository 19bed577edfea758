/**
 * Spreads calls over time: `burst` at once, then one every `gapMs`. The answer takes the next turn and tells how many
 * milliseconds are left until it; `now` is any clock in milliseconds that does not go back.
 */
export function createPace(burst: number, gapMs: number): (now: number) => number {
  let next = Number.NEGATIVE_INFINITY;
  return (now) => {
    next = Math.max(next + gapMs, now - (burst - 1) * gapMs);
    return Math.max(0, next - now);
  };
}
