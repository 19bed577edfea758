import { randomFillSync } from "node:crypto";
import { monotonicFactory } from "ulid";

/**
 * Makes identifiers such as `run_01J9…`: a prefix that tells the kind and a ULID, so that ids of one process
 * sort by the moment they were made, even within a millisecond.
 */
export type Ids = (prefix: string) => string;

export function createIds(): Ids {
  const next = monotonicFactory(pooledRandom());
  return (prefix) => `${prefix}_${next()}`;
}

/** 0 up to but not including 1, from secure random bytes that are drawn a kilobyte at a time. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(1024);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    return (pool[used++] ?? 0) / 256;
  };
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The smallest id with that prefix that can have been made at or after an instant (epoch milliseconds). */
export function idFloor(prefix: string, instant: number): string {
  let time = "";
  let rest = instant;
  for (let i = 0; i < 10; i++) {
    time = crockford[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${time}${"0".repeat(16)}`;
}
