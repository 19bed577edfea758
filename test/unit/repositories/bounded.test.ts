import { describe, expect, it } from "vitest";
import { forEachBounded } from "../../../src/repositories/bounded.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("forEachBounded", () => {
  it("handles every item, never more than the limit at a time", async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await forEachBounded([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
      done.push(item);
    });
    expect(done.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(most).toBe(3);
  });

  it("starts nothing after a failure, and ends what has begun before it rejects", async () => {
    const started: number[] = [];
    let ended = 0;
    const work = forEachBounded([1, 2, 3, 4, 5], 2, async (item) => {
      started.push(item);
      if (item === 1) throw new Error("first");
      await turn();
      ended += 1;
    });
    await expect(work).rejects.toThrow("first");
    expect(started).toEqual([1, 2]);
    expect(ended).toBe(1);
  });
});
