import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPace } from "../../../src/repositories/github/pace.ts";

describe("createPace", () => {
  it("lets a burst pass at once and then one call every gap", () => {
    const pace = createPace(3, 1000);
    expect([pace(50), pace(50), pace(50), pace(50), pace(50)]).toEqual([0, 0, 0, 1000, 2000]);
  });

  it("gives turns back as time goes by, never more than a burst", () => {
    const pace = createPace(2, 1000);
    expect([pace(0), pace(0), pace(500)]).toEqual([0, 0, 500]);
    expect([pace(60_000), pace(60_000), pace(60_000)]).toEqual([0, 0, 1000]);
  });

  it("never starts more calls in a span than the burst and one a gap", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 5 }), (pauses, burst) => {
        const pace = createPace(burst, 1000);
        let now = 0;
        const starts = pauses.map((pause) => {
          now += pause;
          return now + pace(now);
        });
        for (const [first, start] of starts.entries()) {
          const within = starts.slice(first).filter((each) => each < start + 5000).length;
          expect(within).toBeLessThanOrEqual(burst + 5);
        }
      }),
    );
  });
});
