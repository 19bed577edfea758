import fc from "fast-check";
import { expect, it } from "vitest";
import { backoffMs } from "../../../src/platform/jobs/index.ts";

const most = () => 1 - Number.EPSILON;

it("doubles its limit with every try up to the cap", () => {
  const limits = [1, 2, 3, 4, 5, 6].map((attempt) =>
    Math.round(backoffMs({ base: 100, cap: 1_000 }, attempt, most)),
  );
  expect(limits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
});

it("waits anything from nothing to the limit", () => {
  expect(backoffMs({ base: 100, cap: 1_000 }, 3, () => 0)).toBe(0);
  expect(backoffMs({ base: 100, cap: 1_000 }, 3, () => 0.5)).toBe(200);
});

it("is a finite number within the cap after any number of tries", () => {
  const settings = fc.record({ base: fc.nat(10_000), cap: fc.nat(1_000_000) });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const property = fc.property(
    settings,
    fc.integer({ min: 1, max: 1_000_000 }),
    random,
    (backoff, attempt, value) => {
      const wait = backoffMs(backoff, attempt, () => value);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(backoff.cap);
    },
  );
  fc.assert(property);
});
