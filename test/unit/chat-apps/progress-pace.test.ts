import fc from "fast-check";
import { expect, it } from "vitest";
import { createProgressPauses, lookAgainMs } from "../../../src/chat-apps/progress-pace.ts";

it("looks again after a third of a run's age, within bounds", () => {
  expect([0, 6_000, 600_000].map((age) => lookAgainMs(age, 1, 60))).toEqual([1_500, 2_000, 10_000]);
});

it("looks so seldom that all conversations of an app together stay below its limit", () => {
  fc.assert(
    fc.property(fc.nat(3_600_000), fc.integer({ min: 1, max: 500 }), (age, underWay) => {
      expect((underWay * 60_000) / lookAgainMs(age, underWay, 40)).toBeLessThanOrEqual(40);
    }),
  );
});

it("shows nothing until the longest pause of an app is over", () => {
  let now = 1_000;
  const pauses = createProgressPauses(() => now);
  expect(pauses.leftMs("a")).toBe(0);
  pauses.pause("a", 5_000);
  pauses.pause("a", 1_000);
  expect([pauses.leftMs("a"), pauses.leftMs("b")]).toEqual([5_000, 0]);
  now += 5_000;
  expect(pauses.leftMs("a")).toBe(0);
});
