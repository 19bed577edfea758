import type { EvalCase } from "../agents/index.ts";
import type { StatusPost } from "../commit-status/index.ts";
import { toInstant } from "../platform/clock.ts";
import type { RunRow } from "../runs/index.ts";
import type { AssertionResult } from "./assertions.ts";
import type { EvalCaseRecord, EvalSuite, EvalSuiteSummary, SuiteStatus } from "./schema.ts";
import { casesOf, type EvalRunRow, isFinalSuite, type JudgedSuite, type SuiteRow } from "./store.ts";
import { caseVerdict, countPassed } from "./tally.ts";

/** Runs by their ids: those of open suites, and with their output those that are shown. */
type Runs = ReadonlyMap<string, Pick<RunRow, "status"> & Partial<Pick<RunRow, "output">>>;

/** What has become of a suite so far. */
export interface SuiteState {
  status: SuiteStatus;
  totalCount: number;
  passedCount: number;
  cached: boolean;
  /** Why the suite could not be run. */
  error?: string;
}

/** How the cases of a suite were answered, for those who tell of it elsewhere. */
export interface Verdict {
  evalId: string;
  status: "passed" | "failed";
  totalCount: number;
  passedCount: number;
  cached: boolean;
  /** Dollars that its runs have cost, of a cached suite those that it stands on; null when it is not known. */
  costUsd: number | null;
  cases: VerdictCase[];
}

export interface VerdictCase {
  name: string;
  passed: boolean;
  /** One line about why it failed; empty when it passed. */
  detail: string;
  judgePassed: boolean | null;
}

const longestDetail = 500;

/** `evalRuns` are the suite's own; `runs` tell of those that are open. */
export function presentState(suite: SuiteRow, evalRuns: readonly EvalRunRow[], runs: Runs): SuiteState {
  return {
    status: suiteStatus(suite, evalRuns, runs),
    totalCount: suite.total_count,
    passedCount: isFinalSuite(suite) ? suite.passed_count : countPassed(casesOf(suite), evalRuns),
    cached: suite.cached_from !== null,
    ...(suite.error === null ? {} : { error: suite.error }),
  };
}

/**
 * A suite with all that is known of its cases. `evalRuns` are its own, or those of the suite that it stands
 * on, in the order of the cases.
 */
export function presentSuite(
  suite: SuiteRow,
  evalRuns: readonly EvalRunRow[],
  runs: Runs,
  statusPost: StatusPost = { state: "none" },
): EvalSuite {
  const ended = isFinalSuite(suite);
  const byCase = Map.groupBy(evalRuns, (row) => row.case_index);
  return {
    id: suite.id,
    agent: suite.agent,
    version: suite.version,
    commitSha: suite.commit_sha,
    source: suite.source,
    ...presentState(suite, evalRuns, runs),
    ...(suite.cached_from === null ? {} : { cachedFrom: suite.cached_from }),
    runAs: suite.run_as === "" ? null : suite.run_as,
    cases: casesOf(suite).map((evalCase, index) =>
      presentCase(evalCase, byCase.get(index) ?? [], runs, ended),
    ),
    createdAt: toInstant(suite.created_at),
    finishedAt: toInstant(suite.finished_at),
    statusPost,
  };
}

/** `evalRuns` are its own, or those of the suite that it stands on, in the order of the cases. */
export function presentVerdict(suite: JudgedSuite, evalRuns: readonly EvalRunRow[]): Verdict {
  const byCase = Map.groupBy(evalRuns, (row) => row.case_index);
  return {
    evalId: suite.id,
    status: suite.status,
    totalCount: suite.total_count,
    passedCount: suite.passed_count,
    cached: suite.cached_from !== null,
    costUsd: total(evalRuns),
    cases: casesOf(suite).map((evalCase, index) => {
      const rows = byCase.get(index) ?? [];
      const passed = caseVerdict(evalCase, rows) === true;
      const judgePassed = opinionOf(shownRun(rows));
      return { name: evalCase.name, passed, detail: passed ? "" : whyFailed(rows), judgePassed };
    }),
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

function presentCase(
  evalCase: EvalCase,
  rows: readonly EvalRunRow[],
  runs: Runs,
  ended: boolean,
): EvalCaseRecord {
  const verdict = caseVerdict(evalCase, rows);
  const shown = shownRun(rows);
  const openStatus = ended ? "cancelled" : hasBegun(rows, runs) ? "running" : "queued";
  return {
    name: evalCase.name,
    status: verdict === null ? openStatus : verdict ? "passed" : "failed",
    passed: verdict === true,
    input: evalCase.input,
    output: runs.get(shown?.run_id ?? "")?.output ?? null,
    assertions: JSON.parse(shown?.assertions ?? "[]"),
    judgePassed: opinionOf(shown),
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

const opinionOf = (shown: EvalRunRow | undefined) =>
  shown === undefined || shown.judge_passed === null ? null : shown.judge_passed === 1;

function whyFailed(rows: readonly EvalRunRow[]): string {
  const checks: readonly AssertionResult[] = JSON.parse(shownRun(rows)?.assertions ?? "[]");
  const faults = checks.flatMap(({ passed, detail }) => (passed ? [] : detail));
  const failed = rows.filter(({ passed }) => passed === 0).length;
  const often = rows.length > 1 ? [`${failed} of ${rows.length} runs failed.`] : [];
  const line = [...often, ...faults].join(" ").replace(/\s+/g, " ").trim();
  return line.length > longestDetail ? `${line.slice(0, longestDetail)}…` : line;
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
