import type { EvalCase } from "../agents/index.ts";
import { type Queryable, type Rows, type Tx, toJson } from "../platform/db/index.ts";
import type { AssertionResult } from "./assertions.ts";
import type { ListEvals, SuiteSource, SuiteStatus } from "./schema.ts";

/** A row of `eval_suites`. */
export interface SuiteRow {
  id: string;
  workspace_id: string;
  agent: string;
  version: string;
  commit_sha: string;
  spec_sha: string;
  eval_sha: string;
  source: SuiteSource;
  /** Empty: nobody's connections. */
  run_as: string;
  status: SuiteStatus;
  /** JSON of `EvalCase`s. */
  cases: string;
  total_count: number;
  passed_count: number;
  error: string | null;
  /** The suite whose runs stand in for runs of its own. */
  cached_from: string | null;
  created_at: number;
  finished_at: number | null;
}

/** What a suite is made from, by the hashes of the texts. */
export interface SuiteTexts {
  agent: string;
  specSha: string;
  evalSha: string;
}

/** A suite that has a verdict on its texts. */
export type JudgedSuite = SuiteRow & { status: "passed" | "failed" };

/** What is known of a suite when it is asked for. */
export type NewSuite = Omit<
  SuiteRow,
  "status" | "cases" | "total_count" | "passed_count" | "error" | "cached_from" | "finished_at"
>;

/** A row of `eval_runs`: one run of a case, and what it came to once `evaluated_at` is set. */
export interface EvalRunRow {
  run_id: string;
  suite_id: string;
  case_index: number;
  repetition: number;
  evaluated_at: number | null;
  passed: number | null;
  /** JSON of `AssertionResult`s. */
  assertions: string | null;
  judge_passed: number | null;
  judge_reason: string | null;
  duration_ms: number | null;
  cost_usd: number | null;
}

/** What one run of a case came to. */
export interface EvalResult {
  passed: boolean;
  assertions: readonly AssertionResult[];
  judgePassed: boolean | null;
  judgeReason: string | null;
  durationMs: number | null;
  costUsd: number | null;
}

export const casesOf = (suite: SuiteRow): EvalCase[] => JSON.parse(suite.cases);

export const isFinalSuite = ({ status }: Pick<SuiteRow, "status">) =>
  status !== "queued" && status !== "running";

const open = ["queued", "running"] as const;

/** The suite whose runs tell of this one's cases. */
export const ranSuiteOf = ({ id, cached_from }: SuiteRow) => cached_from ?? id;

export const newSuiteRow = (suite: NewSuite, cases: readonly EvalCase[]): Rows[number] => ({
  table: "eval_suites",
  row: { ...suite, status: "queued", cases: toJson(cases), total_count: cases.length, passed_count: 0 },
});

/** A suite that ends as it is made, with what another one of the same texts came to. */
export const cachedSuiteRow = (
  suite: NewSuite,
  { id, status, cases, total_count, passed_count }: JudgedSuite,
): Rows[number] => ({
  table: "eval_suites",
  row: {
    ...suite,
    status,
    cases,
    total_count,
    passed_count,
    cached_from: id,
    finished_at: suite.created_at,
  },
});

export const newEvalRunRow = (
  row: Pick<EvalRunRow, "run_id" | "suite_id" | "case_index" | "repetition">,
): Rows[number] => ({ table: "eval_runs", row: { ...row } });

export async function findSuite(
  q: Queryable,
  workspaceId: string,
  id: string,
): Promise<SuiteRow | undefined> {
  return q("eval_suites").where({ id, workspace_id: workspaceId }).first();
}

export async function findSuites(q: Queryable, ids: readonly string[]): Promise<Map<string, SuiteRow>> {
  const rows: SuiteRow[] = await q("eval_suites").whereIn("id", ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Newest first, one more than the limit when there are more. */
export async function listSuites(q: Queryable, workspaceId: string, filter: ListEvals): Promise<SuiteRow[]> {
  const query = q("eval_suites")
    .where({ workspace_id: workspaceId, agent: filter.agent })
    .orderBy("id", "desc")
    .limit(filter.latest ? 1 : filter.limit + 1);
  if (filter.before) query.where("id", "<", filter.before);
  return query;
}

/** The runs of these suites, in the order of their cases. */
export async function evalRunsOf(q: Queryable, suiteIds: readonly string[]): Promise<EvalRunRow[]> {
  return q("eval_runs").whereIn("suite_id", suiteIds).orderBy(["suite_id", "case_index", "repetition"]);
}

export async function findEvalRuns(
  q: Queryable,
  runIds: readonly string[],
): Promise<Map<string, EvalRunRow>> {
  const rows: EvalRunRow[] = await q("eval_runs").whereIn("run_id", runIds);
  return new Map(rows.map((row) => [row.run_id, row]));
}

/** The suite, locked until the transaction ends. */
export async function lockSuite(tx: Tx, id: string): Promise<SuiteRow | undefined> {
  return tx("eval_suites").where({ id }).forUpdate().first();
}

/** Stores what a run came to. A result that is there already stays. */
export async function storeResult(tx: Tx, runId: string, result: EvalResult, now: number): Promise<void> {
  await tx("eval_runs")
    .where({ run_id: runId })
    .whereNull("evaluated_at")
    .update({
      evaluated_at: now,
      passed: result.passed ? 1 : 0,
      assertions: toJson(result.assertions),
      judge_passed: result.judgePassed === null ? null : Number(result.judgePassed),
      judge_reason: result.judgeReason,
      duration_ms: result.durationMs,
      cost_usd: result.costUsd,
    });
}

export async function hasOpenRuns(tx: Tx, suiteId: string): Promise<boolean> {
  const row = await tx("eval_runs").where({ suite_id: suiteId }).whereNull("evaluated_at").first("run_id");
  return row !== undefined;
}

/** Inserts the rows of a suite that has no runs of its own. */
export async function insertSuite(tx: Tx, rows: Rows): Promise<void> {
  for (const { table, row } of rows) await tx(table).insert(row);
}

export async function markRunning(tx: Tx, id: string): Promise<void> {
  await tx("eval_suites").where({ id, status: "queued" }).update({ status: "running" });
}

/** Ends a suite that is open. False: it had ended already. */
export async function closeSuite(
  tx: Tx,
  id: string,
  end: {
    status: "passed" | "failed" | "error";
    passedCount: number;
    error?: string | undefined;
    now: number;
  },
): Promise<boolean> {
  const { status, passedCount, error = null, now } = end;
  const changed = await tx("eval_suites")
    .where({ id })
    .whereIn("status", open)
    .update({ status, passed_count: passedCount, error, finished_at: now });
  return changed === 1;
}

/** Suites that are open since before an instant, oldest first. */
export async function openSuites(q: Queryable, createdBefore: number, limit: number): Promise<SuiteRow[]> {
  return q("eval_suites")
    .whereIn("status", open)
    .where("created_at", "<", createdBefore)
    .orderBy("created_at")
    .limit(limit);
}

/** The newest suite of exactly these two texts that passed or failed. */
export async function newestVerdict(
  q: Queryable,
  workspaceId: string,
  texts: SuiteTexts,
): Promise<JudgedSuite | undefined> {
  return verdictsOn(q, workspaceId, texts).first();
}

/** The same without suites that had no runs of their own. */
export async function newestRanVerdict(
  q: Queryable,
  workspaceId: string,
  texts: SuiteTexts,
): Promise<JudgedSuite | undefined> {
  return verdictsOn(q, workspaceId, texts).whereNull("cached_from").first();
}

function verdictsOn(q: Queryable, workspaceId: string, { agent, specSha, evalSha }: SuiteTexts) {
  return q("eval_suites")
    .where({ workspace_id: workspaceId, agent, spec_sha: specSha, eval_sha: evalSha })
    .whereIn("status", ["passed", "failed"])
    .orderBy("id", "desc");
}
