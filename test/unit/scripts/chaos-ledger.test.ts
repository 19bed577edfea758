import { describe, expect, it } from "vitest";
import {
  isKept,
  judge,
  type LedgerAutomation,
  type LedgerFire,
  type LedgerRun,
  occurrencesIn,
} from "../../../scripts/chaos/ledger.ts";
import { createRandom } from "../../../scripts/chaos/random.ts";

const at = (time: string) => Date.parse(`2026-03-02T${time}Z`);
const automation: LedgerAutomation = {
  id: "aut_1",
  schedule: "* * * * *",
  timezone: "UTC",
  createdAt: at("08:00:30"),
};

const fire = (time: string, change: Partial<LedgerFire> = {}): LedgerFire => ({
  ...{ automationId: "aut_1", outcome: "fired", runId: `run_${time}`, count: 1 },
  ...{ scheduledFor: at(time), firstScheduledFor: at(time) },
  ...change,
});
const coalesced = (first: string, last: string, count: number) =>
  fire(last, { outcome: "coalesced", runId: null, firstScheduledFor: at(first), count });
const runsOf = (fires: readonly LedgerFire[]): LedgerRun[] =>
  fires.flatMap(({ runId, automationId }) => (runId === null ? [] : { id: runId, automationId }));

describe("the judge of a chaos run", () => {
  it("counts an occurrence for each minute after the creation, by what its row says", () => {
    const fires = [fire("08:01"), coalesced("08:02", "08:03", 2), fire("08:04", { outcome: "error" })];
    const verdict = judge([automation], fires, runsOf(fires), at("08:04:59"));
    expect(verdict).toMatchObject({ expected: 4, fired: 1, explained: { coalesced: 2, error: 1 } });
    expect(isKept(verdict)).toBe(true);
  });

  it("expects more where a clock was ahead, and nothing after the owner has left", () => {
    const ahead = [fire("08:01"), coalesced("08:02", "08:09", 8), fire("08:10")];
    expect(judge([automation], ahead, runsOf(ahead), at("08:02"))).toMatchObject({ expected: 10, fired: 2 });
    const left = [fire("08:01"), fire("08:02", { outcome: "blocked", runId: null })];
    const verdict = judge([automation], left, runsOf(left), at("09:00"));
    expect(verdict).toMatchObject({ expected: 2, unexplained: 0 });
  });

  it.each([
    ["no row", [fire("08:01"), fire("08:03")], { unexplained: 1 }],
    ["no rows at all", [], { unexplained: 3 }],
    ["two rows", [fire("08:01"), fire("08:02"), coalesced("08:02", "08:03", 2)], { duplicated: 1 }],
    ["a wrong count", [fire("08:01"), coalesced("08:02", "08:03", 3)], { wrongRows: 1 }],
    ["another instant", [fire("08:01"), fire("08:02"), fire("08:03"), fire("08:03:10")], { wrongRows: 1 }],
  ])("finds occurrences with %s", (_, fires, wrong) => {
    const verdict = judge([automation], fires, runsOf(fires), at("08:03:00"));
    expect(verdict).toMatchObject(wrong);
    expect(isKept(verdict)).toBe(false);
  });

  it("finds runs that no row names, and rows whose run is missing or another automation's", () => {
    const fires = ["08:01", "08:02", "08:03"].map((time) => fire(time));
    const runs = [
      { id: "run_08:01", automationId: "aut_1" },
      { id: "run_08:02", automationId: "aut_2" },
      { id: "run_again", automationId: "aut_1" },
    ];
    const verdict = judge([automation], fires, runs, at("08:03:00"));
    expect(verdict).toMatchObject({ rowsWithoutRun: 2, runsWithoutRow: 1 });
    expect(isKept(verdict)).toBe(false);
  });

  it("knows the minutes of a zone that is not whole hours away", () => {
    const kathmandu = { schedule: "7-59/4 * * * *", timezone: "Asia/Kathmandu" } as const;
    const found = occurrencesIn(kathmandu, at("08:00:00"), at("08:30:00"));
    // 08:15 in UTC is 14:00 there.
    expect(found).toEqual(
      ["08:02", "08:06", "08:10", "08:14", "08:22", "08:26", "08:30"].map((time) => at(time)),
    );
  });
});

it("a seed's chance repeats, and another seed's is another", () => {
  const drawn = (seed: number) => {
    const random = createRandom(seed);
    return Array.from({ length: 50 }, () => random.whole(1, 1_000));
  };
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(8)).not.toEqual(drawn(7));
  expect(Math.min(...drawn(7))).toBeGreaterThanOrEqual(1);
  expect(Math.max(...drawn(7))).toBeLessThanOrEqual(1_000);
});
