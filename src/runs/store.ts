import type { FailureCode } from "../frameworks/index.ts";
import type { TokenUsage } from "../models/index.ts";
import { alongIndex, columnsById, type Queryable, type Rows, type Tx } from "../platform/db/index.ts";
import type { ListRuns, RunStatus, RunTrigger } from "./schema.ts";

/** A row of `runs`. */
export interface RunRow {
  id: string;
  workspace_id: string;
  agent: string;
  framework: string;
  version: string;
  commit_sha: string;
  spec_sha: string;
  status: RunStatus;
  trigger: RunTrigger;
  listed: number;
  environment: "production" | "development";
  /** Empty: nobody's connections. */
  run_as: string;
  message: string;
  output: string | null;
  model: string | null;
  tokens_input: number;
  tokens_output: number;
  tokens_cached: number;
  cost_usd: number | null;
  failure_code: FailureCode | null;
  error_details: string | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  cancel_requested_at: number | null;
  attempt: number;
  tool_calls: number;
  eval_id: string | null;
  automation_id: string | null;
  trigger_id: string | null;
  webhook_id: string | null;
  /** JSON of slugs; null for all that the spec names. */
  tools_allowed: string | null;
  /** JSON of the spec hashes of agents that go with the run, by name; null for the catalog's. */
  agents_beside: string | null;
}

/** What is known when a run is asked for. */
export type NewRun = Pick<
  RunRow,
  | "id"
  | "workspace_id"
  | "agent"
  | "framework"
  | "version"
  | "commit_sha"
  | "spec_sha"
  | "trigger"
  | "environment"
  | "run_as"
  | "message"
  | "eval_id"
  | "automation_id"
  | "trigger_id"
  | "webhook_id"
  | "tools_allowed"
  | "agents_beside"
  | "created_at"
>;

/** How a run ended. */
export interface RunEnd {
  status: "succeeded" | "failed" | "cancelled";
  output: string | null;
  failureCode: FailureCode | null;
  errorDetails: string | null;
  finishedAt: number;
}

/** What a run has used up so far. */
export interface RunSpending {
  model: string | null;
  tokens: TokenUsage;
  costUsd: number | null;
}

/** A row of `run_events`; (run, attempt, seq) is its identity and its order. */
export interface RunEventRow {
  run_id: string;
  attempt: number;
  seq: number;
  type: string;
  data: string;
  at: number;
}

/** What a progress is made of. */
export type StepEvent = Pick<RunEventRow, "type" | "data">;

export const newRunRow = (run: NewRun): Rows[number] => ({
  table: "runs",
  row: {
    ...run,
    status: "queued",
    listed: run.trigger === "eval" ? 0 : 1,
    tokens_input: 0,
    tokens_output: 0,
    tokens_cached: 0,
    attempt: 0,
    tool_calls: 0,
  },
});

/** A run that ended when it was made, with the one event of its trace. */
export const endedRunRows = (run: NewRun, end: RunEnd): Rows => {
  const { table, row } = newRunRow(run);
  return [{ table, row: { ...row, ...endColumns(end) } }, eventRow(lastEvent(run.id, 0, end))];
};

export const eventRow = (event: RunEventRow): Rows[number] => ({ table: "run_events", row: { ...event } });

/** Stores events of `eventRow`; those that are stored already stay as they are. */
export async function keepEvents(tx: Tx, events: Rows): Promise<void> {
  if (events.length > 0)
    await tx("run_events")
      .insert(events.map(({ row }) => row))
      .onConflict(["run_id", "attempt", "seq"])
      .ignore();
}

/** Behind every event of an attempt that nobody follows any more. */
const lastSeq = 1_000_000;

/** The last event of a run that ends without an executor; one of the attempt that had it last. */
export function finalEvent({ id, attempt }: Pick<RunRow, "id" | "attempt">, end: RunEnd): Rows[number] {
  return eventRow(lastEvent(id, attempt, end));
}

function lastEvent(id: string, attempt: number, { status, failureCode, finishedAt }: RunEnd): RunEventRow {
  const data = JSON.stringify({ status, ...(failureCode ? { failureCode } : {}) });
  return { run_id: id, attempt, seq: lastSeq, type: "run.finished", data, at: finishedAt };
}

export async function findRun(q: Queryable, workspaceId: string, id: string): Promise<RunRow | undefined> {
  return q("runs").where({ id, workspace_id: workspaceId }).first();
}

export async function findRuns(q: Queryable, ids: readonly string[]): Promise<Map<string, RunRow>> {
  const rows: RunRow[] = await q("runs").whereIn("id", ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The same with only what has become of them. */
export async function findStates(
  q: Queryable,
  ids: readonly string[],
): Promise<Map<string, Pick<RunRow, "status">>> {
  const rows: Pick<RunRow, "id" | "status">[] = await q("runs").whereIn("id", ids).select("id", "status");
  return new Map(rows.map((row) => [row.id, row]));
}

/** Data of the tool calls of a run, in order; JSON that may be cut off when it was too long. */
export async function toolCallData(q: Queryable, runId: string): Promise<string[]> {
  return q("run_events")
    .where({ run_id: runId, type: "tool.called" })
    .orderBy(["attempt", "seq"])
    .pluck("data");
}

/** The kinds of events that tell how far a step is; results of tools, which may be whole files, are none. */
const stepEvents = ["step.started", "model.retried", "text.delta", "tool.called", "step.finished"];

/** Far more than what is said in a message of a chat. */
const mostStepEvents = 1_000;

/**
 * What tells how far the newest step of a run's newest attempt is, in order and from the step's beginning or its newest
 * retry on; the first 1,000 events at the most.
 */
export async function newestStepEvents(q: Queryable, runId: string): Promise<StepEvent[]> {
  const attempt = q("run_events").where({ run_id: runId }).max("attempt");
  const begin = q("run_events")
    .where({ run_id: runId })
    .where("attempt", attempt.clone())
    .whereIn("type", ["step.started", "model.retried"])
    .orderBy("seq", "desc")
    .limit(1)
    .select("seq");
  return q("run_events")
    .where({ run_id: runId })
    .where("attempt", attempt)
    .where("seq", ">=", begin)
    .whereIn("type", stepEvents)
    .orderBy("seq")
    .limit(mostStepEvents)
    .select("type", "data");
}

/** Newest first, one more than the limit when there are more. */
export async function listRuns(q: Queryable, workspaceId: string, filter: ListRuns): Promise<RunRow[]> {
  const [environment, ...others] = new Set(filter.environment);
  const oneEnvironment = environment !== undefined && others.length === 0;
  const query = alongIndex(q, "runs", indexFor(filter, oneEnvironment))
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(filter.limit + 1);
  // `listed` stands in the indexes where a condition on the trigger could not be used.
  if (filter.trigger) query.where({ trigger: filter.trigger });
  else query.where({ listed: 1 });
  if (filter.status) query.where({ status: filter.status });
  if (filter.agent) query.where({ agent: filter.agent });
  if (oneEnvironment) query.where({ environment });
  if (filter.before) query.where("id", "<", filter.before);
  return query;
}

/** A run and the attempt of its job that is about to execute it. */
export interface RunAttempt {
  id: string;
  attempt: number;
}

/**
 * Marks runs as executed by those attempts of their jobs, which fences off the attempts before. Returns the
 * ids that were marked: of the others a newer attempt has the run, or it has ended.
 */
export async function beginRuns(tx: Tx, starting: readonly RunAttempt[], now: number): Promise<Set<string>> {
  const begun = new Set<string>();
  for (const [attempt, runs] of Map.groupBy(starting, (run) => run.attempt)) {
    const ids = runs.map((run) => run.id);
    const changed = await tx("runs")
      .whereIn("id", ids)
      .whereIn("status", ["queued", "running"])
      .where("attempt", "<", attempt)
      .update({ status: "running", attempt, started_at: tx.raw("coalesce(started_at, ?)", [now]) });
    const marked =
      changed === ids.length
        ? ids
        : await tx("runs").whereIn("id", ids).where({ attempt, status: "running" }).pluck("id");
    for (const id of marked) begun.add(id);
  }
  return begun;
}

/** Counts a tool call before it is made, with what was spent so far. False: this attempt may call nothing more. */
export async function countToolCall(
  tx: Tx,
  id: string,
  attempt: number,
  spending: RunSpending,
): Promise<boolean> {
  const changed = await tx("runs")
    .where({ id, attempt, status: "running" })
    .whereNull("cancel_requested_at")
    .update({ tool_calls: tx.raw("tool_calls + 1"), ...spendingColumns(spending) });
  return changed === 1;
}

/** How an attempt of a run's job leaves the run. */
export interface RunEnding extends RunAttempt {
  end: RunEnd;
  spending: RunSpending;
}

/** Runs that one statement ends at the most: it says every value of each. */
const endsAtOnce = 50;

/** Characters of an answer or of details that are worth a statement of their own. */
const longText = 64 * 1024;

/** Stores the ends of runs. False: the result of one of these attempts does not count. */
export async function endRuns(tx: Tx, endings: readonly RunEnding[]): Promise<boolean> {
  let ended = 0;
  for (const alike of endedTogether(endings)) {
    const [{ attempt }] = alike;
    const ids = alike.map(({ id }) => id);
    const query = tx("runs").whereIn("id", ids).where({ attempt, status: "running" });
    ended += await query.update(endingColumns(tx, alike));
  }
  return ended === endings.length;
}

type Together = [RunEnding, ...RunEnding[]];

function* endedTogether(endings: readonly RunEnding[]): Generator<Readonly<Together>> {
  const open = new Map<number, Together>();
  for (const ending of endings) {
    const { output, errorDetails } = ending.end;
    const alike = open.get(ending.attempt);
    if ((output?.length ?? 0) + (errorDetails?.length ?? 0) > longText) yield [ending];
    else if (alike === undefined) open.set(ending.attempt, [ending]);
    else if (alike.push(ending) === endsAtOnce) {
      open.delete(ending.attempt);
      yield alike;
    }
  }
  yield* open.values();
}

function endingColumns(tx: Tx, endings: Readonly<Together>) {
  const columnsOf = ({ end, spending }: RunEnding) => ({ ...endColumns(end), ...spendingColumns(spending) });
  const names = Object.keys(columnsOf(endings[0])) as (keyof ReturnType<typeof columnsOf>)[];
  return columnsById(
    tx,
    names,
    endings.map((ending) => [ending.id, columnsOf(ending)]),
  );
}

/** Ends runs that nobody executes. Returns how many of them had not ended already. */
export async function endIdleRuns(tx: Tx, ids: readonly string[], end: RunEnd): Promise<number> {
  return tx("runs").whereIn("id", ids).whereIn("status", ["queued", "running"]).update(endColumns(end));
}

/** Puts a run back that its worker has to leave. */
export async function releaseRun(tx: Tx, id: string, attempt: number): Promise<void> {
  await tx("runs").where({ id, attempt, status: "running" }).update({ status: "queued" });
}

/** Asks whoever executes the runs to stop. */
export async function requestCancel(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await tx("runs")
    .whereIn("id", ids)
    .where({ status: "running" })
    .whereNull("cancel_requested_at")
    .update({ cancel_requested_at: now });
}

/** The run, locked until the transaction ends. */
export async function lockRun(tx: Tx, workspaceId: string, id: string): Promise<RunRow | undefined> {
  return tx("runs").where({ id, workspace_id: workspaceId }).forUpdate().first();
}

/** Those of the runs that have not ended, locked until the transaction ends. */
export async function lockOpenRuns(tx: Tx, ids: readonly string[]): Promise<RunRow[]> {
  return tx("runs").whereIn("id", ids).whereIn("status", ["queued", "running"]).orderBy("id").forUpdate();
}

/** Which of the runs somebody wants to be stopped. */
export async function cancelRequested(q: Queryable, ids: readonly string[]): Promise<string[]> {
  return q("runs").whereIn("id", ids).whereNotNull("cancel_requested_at").pluck("id");
}

/** Events after a position, in order. */
export async function eventsAfter(
  q: Queryable,
  runId: string,
  attempt: number,
  seq: number,
): Promise<RunEventRow[]> {
  return q<RunEventRow>("run_events")
    .where({ run_id: runId })
    .where((later) =>
      later.where("attempt", ">", attempt).orWhere((same) => same.where({ attempt }).where("seq", ">", seq)),
    )
    .orderBy(["attempt", "seq"])
    .limit(500);
}

/** The index of the filter that leaves the fewest runs. */
function indexFor({ status, agent, trigger }: ListRuns, oneEnvironment: boolean): string {
  if (status === "queued" || status === "running") return "runs_status";
  if (agent !== undefined) return "runs_agent";
  if (status !== undefined && status !== "succeeded") return "runs_status";
  if (trigger !== undefined) return "runs_trigger";
  if (status !== undefined) return "runs_status";
  return oneEnvironment ? "runs_environment" : "runs_list";
}

function endColumns({ status, output, failureCode, errorDetails, finishedAt }: RunEnd) {
  return { status, output, failure_code: failureCode, error_details: errorDetails, finished_at: finishedAt };
}

function spendingColumns({ model, tokens, costUsd }: RunSpending) {
  return {
    model,
    tokens_input: tokens.input,
    tokens_output: tokens.output,
    tokens_cached: tokens.cached,
    cost_usd: costUsd,
  };
}
