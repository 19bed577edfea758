import type { EvalCase } from "../agents/index.ts";
import { toInstant } from "../platform/clock.ts";
import type { RunRow } from "../runs/index.ts";
import type { EvalCaseRecord, EvalSuite, EvalSuiteSummary } from "./schema.ts";
import { casesOf, type EvalRunRow, isFinalSuite, type SuiteRow } from "./store.ts";
import { caseVerdict, countPassed } from "./tally.ts";

/** Runs by their ids: those of open suites, and with their output those that are shown. */
type Runs = ReadonlyMap<string, Pick<RunRow, "status"> & Partial<Pick<RunRow, "output">>>;

/** A suite with all that is known of its cases. `evalRuns` are its own, in the order of the cases. */
export function presentSuite(suite: SuiteRow, evalRuns: readonly EvalRunRow[], runs: Runs): EvalSuite {
  const cases = casesOf(suite);
  const byCase = Map.groupBy(evalRuns, (row) => row.case_index);
  return {
    id: suite.id,
    agent: suite.agent,
    version: suite.version,
    commitSha: suite.commit_sha,
    source: suite.source,
    status: suiteStatus(suite, evalRuns, runs),
    totalCount: suite.total_count,
    passedCount: isFinalSuite(suite) ? suite.passed_count : countPassed(cases, evalRuns),
    cases: cases.map((evalCase, index) => presentCase(evalCase, byCase.get(index) ?? [], runs)),
    createdAt: toInstant(suite.created_at),
    finishedAt: toInstant(suite.finished_at),
    ...(suite.error === null ? {} : { error: suite.error }),
    statusPost: { state: "none" },
  };
}

/** The same without inputs, outputs and assertions. */
export function summariseSuite(suite: EvalSuite): EvalSuiteSummary {
  return {
    ...suite,
    cases: suite.cases.map(({ input: _input, output: _output, assertions: _all, ...summary }) => summary),
  };
}

/** The run that tells most of a case: the first that failed, else the first. */
export function shownRun(rows: readonly EvalRunRow[]): EvalRunRow | undefined {
  return rows.find(({ passed }) => passed === 0) ?? rows[0];
}

function presentCase(evalCase: EvalCase, rows: readonly EvalRunRow[], runs: Runs): EvalCaseRecord {
  const verdict = caseVerdict(evalCase, rows);
  const shown = shownRun(rows);
  return {
    name: evalCase.name,
    status: verdict === null ? (hasBegun(rows, runs) ? "running" : "queued") : verdict ? "passed" : "failed",
    passed: verdict === true,
    input: evalCase.input,
    output: runs.get(shown?.run_id ?? "")?.output ?? null,
    assertions: JSON.parse(shown?.assertions ?? "[]"),
    judgePassed: shown?.judge_passed === null || !shown ? null : shown.judge_passed === 1,
    ...(shown && shown.judge_reason !== null ? { judgeReason: shown.judge_reason } : {}),
    runId: shown?.run_id ?? "",
    durationMs: longest(rows),
    costUsd: total(rows),
    ...(rows.length > 1
      ? {
          runs: rows.map(({ run_id, passed }) => ({
            runId: run_id,
            passed: passed === null ? null : passed === 1,
          })),
        }
      : {}),
  };
}

/** Queued is what none of its runs has left; the row learns of it only with the first result. */
function suiteStatus(suite: SuiteRow, rows: readonly EvalRunRow[], runs: Runs): SuiteRow["status"] {
  return suite.status === "queued" && hasBegun(rows, runs) ? "running" : suite.status;
}

function hasBegun(rows: readonly EvalRunRow[], runs: Runs): boolean {
  return rows.some(({ run_id, evaluated_at }) => {
    const status = runs.get(run_id)?.status;
    return evaluated_at !== null || (status !== undefined && status !== "queued");
  });
}

function longest(rows: readonly EvalRunRow[]): number | null {
  const known = rows.flatMap(({ duration_ms }) => duration_ms ?? []);
  return known.length === 0 ? null : Math.max(...known);
}

function total(rows: readonly EvalRunRow[]): number | null {
  if (rows.some(({ cost_usd }) => cost_usd === null)) return null;
  return rows.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0);
}
