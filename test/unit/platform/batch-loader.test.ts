import { expect, it } from "vitest";
import { createBatchLoader } from "../../../src/platform/batch-loader.ts";

it("asks once for what is asked in one turn, each key once, and answers each caller", async () => {
  const asked: (readonly number[])[] = [];
  const load = createBatchLoader(async (keys: readonly number[]) => {
    asked.push(keys);
    return new Map(keys.filter((key) => key !== 3).map((key) => [key, `value ${key}`]));
  });
  expect(await Promise.all([1, 2, 1, 3].map(load))).toEqual(["value 1", "value 2", "value 1", undefined]);
  expect(asked).toEqual([[1, 2, 3]]);
});

it("answers what is asked during a query from a later one: nothing is stale", async () => {
  let value = "old";
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const load = createBatchLoader(async (keys: readonly string[]) => {
    const read = new Map(keys.map((key) => [key, value]));
    begun.resolve();
    await first.promise;
    return read;
  });
  const before = load("k");
  await begun.promise;
  value = "new";
  const after = load("k");
  first.resolve();
  expect([await before, await after]).toEqual(["old", "new"]);
});

it("keeps to its limit, and a failed query fails those who asked in it only", async () => {
  const sizes: number[] = [];
  const load = createBatchLoader(async (keys: readonly number[]) => {
    sizes.push(keys.length);
    if (keys.includes(0)) throw new Error("away");
    return new Map(keys.map((key) => [key, key]));
  }, 2);
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map(load));
  expect(sizes).toEqual([2, 2, 1]);
  expect(results.map((each) => each.status)).toEqual([
    "rejected",
    "rejected",
    "fulfilled",
    "fulfilled",
    "fulfilled",
  ]);
});
