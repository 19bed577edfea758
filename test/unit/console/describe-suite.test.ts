import { expect, it } from "vitest";
import { describeSuite, isFinalSuite } from "../../../src/console/assets/describe-suite.js";
import type { CaseRecord, SuiteRecord } from "../../../src/console/assets/records.d.ts";
import type { EvalSuite } from "../../../src/evals/schema.ts";
import { suiteRecord } from "../../support/console-records.ts";

/** The compiler refuses this as soon as the page reads what the API does not answer. */
const readable = (suite: EvalSuite): SuiteRecord => suite;

const onlyCase = (changes: Partial<CaseRecord>) => {
  const evalCase = suiteRecord().cases[1];
  if (!evalCase) throw new Error("The sample suite has two cases.");
  return describeSuite(readable({ ...suiteRecord(), cases: [{ ...evalCase, ...changes }] } as EvalSuite))
    .cases[0];
};

it("tells each case with its assertions, its judge and its output", () => {
  expect(describeSuite(readable(suiteRecord() as EvalSuite))).toEqual({
    verdict: { word: "Failed", tone: "bad" },
    summary: "1 of 2 cases passed, version draft",
    error: undefined,
    cases: [
      {
        key: "0",
        name: "greets",
        verdict: { word: "Passed", tone: "good" },
        assertions: [
          { verdict: { word: "Passed", tone: "good" }, kind: "contains", detail: "contains good" },
        ],
        judge: undefined,
        footnote: "run_1, 1.2 s, $0.0031",
        input: "Hello?",
        output: "Good day.",
      },
      {
        key: "1",
        name: "polite answer",
        verdict: { word: "Failed", tone: "bad" },
        assertions: [
          { verdict: { word: "Failed", tone: "bad" }, kind: "not_contains", detail: "contains “away”" },
        ],
        judge: { verdict: { word: "FAIL", tone: "bad" }, reason: "The answer is rude." },
        footnote: "run_1, 1.2 s, $0.0031",
        input: "Where is my money?",
        output: "Go away.",
      },
    ],
  });
});

it("tells why a suite could not be run", () => {
  const { verdict, error } = describeSuite(suiteRecord({ status: "error", error: "superseded by 1234567" }));
  expect([verdict.word, error]).toEqual(["Error", "superseded by 1234567"]);
});

it("leaves out what is not known of a case that has not ended", () => {
  const unknown = { output: null, judgePassed: null, durationMs: null, costUsd: null };
  expect(onlyCase({ ...unknown, status: "queued", assertions: [], runId: "" })).toMatchObject({
    verdict: { word: "Queued", tone: "pending" },
    judge: undefined,
    footnote: "",
    output: undefined,
  });
});

it("keeps an empty output apart from none", () => {
  expect(onlyCase({ output: "" })?.output).toBe("");
});

it("counts the runs of a repeated case", () => {
  const runs = [true, false, null].map((passed, index) => ({ runId: `run_${index}`, passed }));
  expect(onlyCase({ runs })?.footnote).toMatch(/^1 of 3 runs passed, run_1/);
});

it("cuts texts that a page cannot hold, and says so", () => {
  const whole = "x".repeat(50_000);
  expect(onlyCase({ output: whole })?.output).toBe(whole);
  const cut = onlyCase({ output: `${whole}yz` })?.output;
  expect(cut).toContain("the API has all 50002 characters");
  expect(cut).not.toContain("y");
});

it("knows which suites have ended", () => {
  const statuses = ["queued", "running", "passed", "failed", "error"] as const;
  expect(statuses.map((status) => isFinalSuite({ status }))).toEqual([false, false, true, true, true]);
});
