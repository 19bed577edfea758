import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  accountsOf,
  BudgetExceeded,
  budgetOf,
  capsOn,
  checkSpecBudget,
  endOf,
  fromNano,
  isOverdrawn,
  refusalOf,
  runBudget,
  stateOf,
  toNano,
} from "../../../src/runs/budget.ts";

const none = {
  usdPerRun: null,
  usdPerAgentDay: null,
  usdPerMemberDay: null,
  usdPerWorkspaceMonth: null,
  warnAt: 0.8,
};
const at = Date.parse("2026-11-21T12:00:00Z");
const accounts = accountsOf({ agent: "digest", runAs: "olga" }, at);

describe("periods", () => {
  it.each([
    ["2026-11-30T23:59:59.999Z", "2026-11-30", "2026-11"],
    ["2026-12-01T00:00:00.000Z", "2026-12-01", "2026-12"],
  ])("%s counts to the day %s and the month %s, in UTC", (instant, day, month) => {
    const periods = accountsOf({ agent: "a", runAs: "m" }, Date.parse(instant));
    expect(periods.map(({ scope, period }) => [scope, period])).toEqual([
      ["agent", day],
      ["member", day],
      ["workspace", month],
    ]);
  });

  it.each([
    ["2026-11-21", "2026-11-22T00:00:00.000Z"],
    ["2026-12-31", "2027-01-01T00:00:00.000Z"],
    ["2028-02-28", "2028-02-29T00:00:00.000Z"],
    ["2026-11", "2026-12-01T00:00:00.000Z"],
    ["2026-12", "2027-01-01T00:00:00.000Z"],
  ])("%s is over at %s", (period, end) => {
    expect(endOf(period)).toBe(end);
  });

  it("every instant lies before the end of its periods and not before their beginning", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true }), (date) => {
        for (const { period } of accountsOf({ agent: "a", runAs: "m" }, date.getTime())) {
          expect(Date.parse(endOf(period))).toBeGreaterThan(date.getTime());
          expect(Date.parse(period.length === 7 ? `${period}-01` : period)).toBeLessThanOrEqual(
            date.getTime(),
          );
        }
      }),
    );
  });
});

describe("caps", () => {
  it("are those that are set; what the spec says of its agent goes before the default", () => {
    expect(capsOn(accounts, none, undefined)).toEqual([]);
    const limits = { ...none, usdPerAgentDay: 2, usdPerMemberDay: 3, usdPerWorkspaceMonth: 4 };
    const amounts = (spec?: { usdPerDay?: number }) =>
      capsOn(accounts, limits, spec).map(({ scope, name, amountUsd }) => [scope, name, amountUsd]);
    const others = [
      ["member", "olga", 3],
      ["workspace", "", 4],
    ];
    expect(amounts()).toEqual([["agent", "digest", 2], ...others]);
    expect(amounts({ usdPerDay: 9 })).toEqual([["agent", "digest", 9], ...others]);
    expect(capsOn(accounts, none, { usdPerDay: 9 })).toHaveLength(1);
  });

  it("on a run come from the spec, else from the settings", () => {
    expect(runBudget(none, undefined, 1)).toBeUndefined();
    expect(runBudget({ ...none, usdPerRun: 2 }, {}, 1)).toMatchObject({ amountUsd: 2, usedUsd: 1 });
    expect(runBudget({ ...none, usdPerRun: 2 }, { usdPerRun: 5 }, 1)).toMatchObject({ amountUsd: 5 });
  });

  it.each([
    [0, "ok", false],
    [0.79, "ok", false],
    [0.8, "warning", false],
    [0.999999999, "warning", false],
    [1, "exceeded", false],
    [1.000000001, "exceeded", true],
  ] as const)("%d of 1 USD: %s, overdrawn %s", (usedUsd, state, overdrawn) => {
    const [cap] = capsOn(accounts, { ...none, usdPerAgentDay: 1 }, undefined);
    const budget = cap && budgetOf(cap, usedUsd);
    expect(budget && [stateOf(budget, 0.8), isOverdrawn(budget)]).toEqual([state, overdrawn]);
  });

  it("warn at a fraction that is none in binary", () => {
    expect(stateOf({ amountUsd: 0.0003, usedUsd: 0.00024 }, 0.8)).toBe("warning");
    expect(stateOf({ amountUsd: 0.3, usedUsd: 0.1 + 0.2 }, 1)).toBe("exceeded");
  });

  it("name themselves, their amount and their end", () => {
    const [agent, member, workspace] = capsOn(
      accounts,
      { ...none, usdPerAgentDay: 1, usdPerMemberDay: 2, usdPerWorkspaceMonth: 3 },
      undefined,
    ).map((cap) => budgetOf(cap, 5));
    if (!agent || !member || !workspace) throw new Error("There are three caps.");
    expect(refusalOf(agent)).toMatch(/agent digest .* 2026-11-22T00:00:00\.000Z/);
    expect(refusalOf(member)).toMatch(/day of olga /);
    expect(refusalOf(workspace)).toMatch(/month of the workspace .* 2026-12-01T00:00:00\.000Z/);
    const { code, details } = new BudgetExceeded(member);
    expect([code, details]).toEqual(["budget_exceeded", expect.stringMatching(/olga cost 5 USD .* 2 USD/)]);
  });
});

describe("sums", () => {
  it("of what was added step by step are exact to a billionth, whatever the steps", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { maxLength: 50 }), (costs) => {
        let cost = 0;
        let sum = 0;
        for (const each of costs) {
          sum += toNano(cost + each) - toNano(cost);
          cost += each;
        }
        expect(sum).toBe(toNano(cost));
      }),
    );
  });

  it("hold prices by the million tokens without rounding", () => {
    expect(fromNano(3 * toNano(0.0375 / 1_000))).toBe(0.0001125);
  });
});

it("outside of the service a run is held to both amounts of its spec", () => {
  expect(() => checkSpecBudget(undefined, 1e6)).not.toThrow();
  expect(() => checkSpecBudget({ usdPerRun: 1, usdPerDay: 0.5 }, 0.5)).not.toThrow();
  expect(() => checkSpecBudget({ usdPerRun: 1, usdPerDay: 0.5 }, 0.6)).toThrow("budget");
  expect(() => checkSpecBudget({ usdPerRun: 0.1 }, 0.2)).toThrow("budget");
});
