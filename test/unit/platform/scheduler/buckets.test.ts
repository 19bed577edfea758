import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketOf, createBucketMemory } from "../../../../src/platform/scheduler/buckets.ts";

describe("the bucket of an instant", () => {
  const instant = fc.integer({ min: 0, max: 4_102_444_800_000 });

  it("ends at the instant or up to 200 ms after it when that is to come", () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 1e9 }), (now, ahead) => {
        const bucket = bucketOf(now + ahead, now);
        expect(bucket % 200).toBe(0);
        expect(bucket).toBeGreaterThan(now);
        expect(bucket).toBeGreaterThanOrEqual(now + ahead);
        expect(bucket - (now + ahead)).toBeLessThan(200);
      }),
    );
  });

  it("is the one that runs when the instant has passed", () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 0, max: 1e9 }), (now, ago) => {
        const bucket = bucketOf(now - ago, now);
        expect(bucket).toBeGreaterThan(now);
        expect(bucket - now).toBeLessThanOrEqual(200);
      }),
    );
  });

  it.each([
    [1_000, 0, 1_000],
    [1_001, 0, 1_200],
    [1_000, 1_000, 1_200],
    [1_000, 999, 1_000],
    [0, 1_999, 2_000],
  ])("of %i at %i is %i", (at, now, bucket) => {
    expect(bucketOf(at, now)).toBe(bucket);
  });
});

describe("the memory of buckets", () => {
  it("names each unknown bucket once", () => {
    const memory = createBucketMemory(10);
    memory.add(200);
    expect(memory.unknown([400, 200, 400, 600])).toEqual([400, 600]);
  });

  it("forgets the oldest when it is full, and everything when it is told to", () => {
    const memory = createBucketMemory(2);
    for (const bucket of [200, 400, 600]) memory.add(bucket);
    expect(memory.unknown([200, 400, 600])).toEqual([200]);
    memory.clear();
    expect(memory.unknown([400, 600])).toEqual([400, 600]);
  });
});
