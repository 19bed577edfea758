import { describe, expect, it } from "vitest";
import { presentState, presentSuite, presentVerdict } from "../../../src/evals/present.ts";
import type { EvalRunRow, JudgedSuite, SuiteRow } from "../../../src/evals/store.ts";

const cases = [
  { name: "first", input: "a", assert: { equals: "a" } },
  { name: "second", input: "b", repeats: 2, minPass: 1, assert: { equals: "b" } },
];

const suite = {
  id: "eval_1",
  workspace_id: "ws_1",
  agent: "echo",
  version: "draft",
  commit_sha: "c",
  spec_sha: "s",
  eval_sha: "e",
  source: "pull_request",
  run_as: "",
  status: "failed",
  cases: JSON.stringify(cases),
  total_count: 2,
  passed_count: 1,
  error: null,
  cached_from: null,
  created_at: 0,
  finished_at: 1,
} satisfies JudgedSuite;

const row = (case_index: number, repetition: number, more: Partial<EvalRunRow> = {}): EvalRunRow => ({
  run_id: `run_${case_index}_${repetition}`,
  suite_id: suite.id,
  case_index,
  repetition,
  evaluated_at: 1,
  passed: 1,
  assertions: "[]",
  judge_passed: null,
  judge_reason: null,
  duration_ms: 1,
  cost_usd: 0.5,
  ...more,
});

const failing = (...details: string[]) => ({
  passed: 0,
  assertions: JSON.stringify([
    { kind: "max_chars", passed: true, detail: "The check holds." },
    ...details.map((detail) => ({ kind: "equals", passed: false, detail })),
  ]),
});

describe("a verdict", () => {
  it("gives the failed checks of a case in one line", () => {
    const details = failing("One\r\n\tline.", "Another.");
    const verdict = presentVerdict(suite, [row(0, 0, details), row(1, 0), row(1, 1)]);
    expect(verdict.cases).toMatchObject([
      { name: "first", passed: false, detail: "One line. Another." },
      { name: "second", passed: true, detail: "" },
    ]);
  });

  it("cuts what is long", () => {
    const { cases: shown } = presentVerdict(suite, [row(0, 0, failing("x".repeat(2_000)))]);
    expect(shown[0]?.detail).toBe(`${"x".repeat(500)}…`);
  });

  it("says nothing of runs that failed while enough of them passed", () => {
    const { cases: shown } = presentVerdict(suite, [row(0, 0), row(1, 0), row(1, 1, failing("No."))]);
    expect(shown[1]).toMatchObject({ passed: true, detail: "" });
  });

  it("has the opinion of the run that is shown, and the cost of all", () => {
    const rows = [
      row(0, 0, { judge_passed: 1 }),
      row(1, 0),
      row(1, 1, { judge_passed: 0, ...failing("No.") }),
    ];
    const verdict = presentVerdict(suite, rows);
    expect(verdict.cases.map(({ judgePassed }) => judgePassed)).toEqual([true, false]);
    expect(verdict.costUsd).toBe(1.5);
    expect(presentVerdict(suite, [...rows, row(1, 2, { cost_usd: null })]).costUsd).toBeNull();
  });
});

describe("a suite", () => {
  const waiting = { evaluated_at: null, passed: null, assertions: null, cost_usd: null };

  it("that has ended shows cases without a result as cancelled; one that goes on as waiting", () => {
    const statusOf = (each: SuiteRow) => presentSuite(each, [row(0, 0, waiting)], new Map()).cases[0]?.status;
    expect(statusOf({ ...suite, status: "error", error: "superseded" })).toBe("cancelled");
    expect(statusOf({ ...suite, status: "queued", finished_at: null })).toBe("queued");
  });

  it("counts so far while it goes on, and as it ended afterwards", () => {
    const going: SuiteRow = { ...suite, status: "running", passed_count: 0, finished_at: null };
    const rows = [row(0, 0), row(1, 0, waiting)];
    expect(presentState(going, rows, new Map())).toMatchObject({ status: "running", passedCount: 1 });
    expect(presentState({ ...suite, passed_count: 2 }, rows, new Map())).toMatchObject({ passedCount: 2 });
  });

  it("shows nobody as null, and where its results are from", () => {
    expect(presentSuite(suite, [], new Map())).toMatchObject({ runAs: null, cached: false });
    const cached = presentSuite({ ...suite, run_as: "ada", cached_from: "eval_0" }, [], new Map());
    expect(cached).toMatchObject({ runAs: "ada", cached: true, cachedFrom: "eval_0" });
  });
});
