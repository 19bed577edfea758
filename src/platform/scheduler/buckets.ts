/** Instants that are this close share a wake-up, milliseconds. */
const bucketMs = 200;

/**
 * The instant at which an instant is woken for: the end of its bucket, and for one that has passed the end of
 * the bucket that is running. It is after `now`, so that a wake-up which is already being delivered is
 * not taken for the one that is asked for. Epoch milliseconds.
 */
export function bucketOf(instant: number, now: number): number {
  return Math.max(Math.ceil(instant / bucketMs), Math.floor(now / bucketMs) + 1) * bucketMs;
}

export interface BucketMemory {
  /** The buckets of these that are not remembered, each once. */
  unknown(buckets: readonly number[]): number[];
  add(bucket: number): void;
  clear(): void;
}

/** Remembers up to `limit` buckets and forgets those first that were added first. */
export function createBucketMemory(limit: number): BucketMemory {
  const known = new Set<number>();
  return {
    unknown: (buckets) => [...new Set(buckets)].filter((bucket) => !known.has(bucket)),
    add(bucket) {
      known.add(bucket);
      if (known.size <= limit) return;
      const [oldest] = known;
      if (oldest !== undefined) known.delete(oldest);
    },
    clear: () => known.clear(),
  };
}
