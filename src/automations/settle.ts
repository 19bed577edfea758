import type { Access } from "../access/index.ts";
import type { Dispatches, DispatchFailure } from "../dispatches/index.ts";
import { afterCommit, insertAll, type Rows, type Tx } from "../platform/db/index.ts";
import type { Role } from "../platform/http/index.ts";
import type { Runs } from "../runs/index.ts";
import type { Schedules } from "./cron.ts";
import { decide, stateAfter, type Verdict } from "./decide.ts";
import { type FireRow, fireRow, settledOccurrences } from "./fire-store.ts";
import type { DueOccurrences } from "./next-occurrence.ts";
import { createReader } from "./read-occurrences.ts";
import type { FireOutcome } from "./schema.ts";
import { type AutomationRow, type AutomationState, lockDue, saveStates } from "./store.ts";
import { type Target, targetKey } from "./targets.ts";

export interface SettleDeps {
  schedules: Schedules;
  members: Pick<Access["members"], "list">;
  runs: Pick<Runs, "order" | "orderFailed" | "states">;
  dispatches: Dispatches;
  /** From 0 up to but not including 1. */
  random(): number;
}

/** What one transaction writes. */
interface Writing {
  rows: Rows[number][];
  states: { row: AutomationRow; state: AutomationState }[];
  failures: DispatchFailure[];
  recoveries: { workspaceId: string; ref: string; runId: string }[];
  postponed: { workspaceId: string; ref: string; at: number | null }[];
  committed: (() => void) | undefined;
}

/** A schedule that cannot be read is looked at again after this long: time zone data may have come back. */
const unreadableMs = 3_600_000;

/**
 * Settles what is due of these automations in the caller's transaction: one row of the ledger and one step of the
 * schedule for each, with the run if one starts. Leaves out what another process has locked and what has changed since
 * `targets` was looked up.
 */
export async function settleDue(
  tx: Tx,
  deps: SettleDeps,
  { ids, targets, now }: { ids: readonly string[]; targets: ReadonlyMap<string, Target>; now: number },
): Promise<void> {
  const locked = await lockDue(tx, ids, now);
  const occurrencesOf = createReader(deps.schedules, now);
  const due = locked.flatMap((row) => {
    const target = targets.get(targetKey(row));
    return target && row.next_run_at !== null ? [{ row, target, ...occurrencesOf(row) }] : [];
  });
  if (due.length === 0) return;
  const isSettled = await settledOccurrences(
    tx,
    due.map(({ row, occurrences }) => ({ automationId: row.id, instants: instantsOf(occurrences) })),
  );
  const roleOf = await rolesIn(tx, deps, due);
  const isBusy = await busyRuns(deps, due);
  const writing: Writing = {
    rows: [],
    states: [],
    failures: [],
    recoveries: [],
    postponed: [],
    committed: undefined,
  };
  for (const { row, target, occurrences, unreadable } of due) {
    const settled = isSettled(row.id, occurrences.latest);
    if (unreadable !== undefined) addUnreadable(writing, row, { reason: unreadable, settled, now });
    else {
      const verdict = decide(row, {
        settled,
        ownerRole: roleOf(row),
        busy: isBusy(row),
        target,
        random: deps.random(),
      });
      addVerdict(writing, deps, { row, verdict, occurrences, isSettled, now });
    }
  }
  await store(tx, deps, writing);
}

const instantsOf = ({ latest, coalesced }: DueOccurrences) =>
  coalesced ? [latest, coalesced.last] : [latest];

async function rolesIn(tx: Tx, { members }: SettleDeps, due: readonly { row: AutomationRow }[]) {
  const roles = new Map<string, Role>();
  for (const workspaceId of new Set(due.map(({ row }) => row.workspace_id)))
    for (const { login, role } of await members.list(tx, workspaceId))
      roles.set(`${workspaceId}\n${login}`, role);
  return (row: AutomationRow) => roles.get(`${row.workspace_id}\n${row.owner}`);
}

/** Read under the lock: whoever started the run before had it, too. */
async function busyRuns({ runs }: SettleDeps, due: readonly { row: AutomationRow }[]) {
  const ids = due.flatMap(({ row }) => (row.overlap === "allow" ? [] : (row.last_run_id ?? [])));
  const states = ids.length === 0 ? new Map() : await runs.states(ids);
  return ({ last_run_id }: AutomationRow) =>
    ["queued", "running"].includes(states.get(last_run_id ?? "")?.status ?? "");
}

interface Judged {
  row: AutomationRow;
  verdict: Verdict;
  occurrences: DueOccurrences;
  isSettled: Awaited<ReturnType<typeof settledOccurrences>>;
  now: number;
}

function addVerdict(writing: Writing, deps: SettleDeps, judged: Judged): void {
  const { row, verdict, occurrences, isSettled, now } = judged;
  const { latest, coalesced, next } = occurrences;
  const runId = addRun(writing, deps, row, verdict);
  writing.states.push({ row, state: stateAfter(row, verdict, { next, now, runId }) });
  const outcome = outcomeOf[verdict.kind];
  if (outcome !== undefined) {
    const reason = "reason" in verdict ? verdict.reason : null;
    const ran = { run_id: runId ?? null, run_as: runId === undefined ? null : row.owner };
    writing.rows.push(fireRow({ ...alone(row.id, latest), outcome, reason, ...ran, recorded_at: now }));
  }
  // Also without a row for the latest: after the clock was set back it has one, and these may have none.
  const pending = verdict.kind === "queued" || verdict.kind === "retrying";
  if (coalesced && !pending && !isSettled(row.id, coalesced.last)) {
    const { first, last } = coalesced;
    const count = coalesced.count();
    const reason = "A later occurrence was due by then and stands for this, too.";
    writing.rows.push(
      fireRow({
        ...alone(row.id, last),
        ...{ outcome: "coalesced", reason, count, first_scheduled_for: first, recorded_at: now },
      }),
    );
  }
  addDispatch(writing, row, verdict, { runId, now, next: next ?? null });
}

const outcomeOf = {
  settled: undefined,
  queued: undefined,
  retrying: undefined,
  blocked: "blocked",
  skipped: "skipped_overlap",
  error: "error",
  fired: "fired",
} as const satisfies Record<Verdict["kind"], FireOutcome | undefined>;

const alone = (automationId: string, scheduledFor: number) =>
  ({
    automation_id: automationId,
    scheduled_for: scheduledFor,
    run_id: null,
    run_as: null,
    count: 1,
    first_scheduled_for: scheduledFor,
  }) satisfies Partial<FireRow>;

/** The id of the run that the verdict makes, if it makes one. */
function addRun(
  writing: Writing,
  deps: SettleDeps,
  row: AutomationRow,
  verdict: Verdict,
): string | undefined {
  const order = {
    workspaceId: row.workspace_id,
    agent: row.agent,
    trigger: "schedule",
    runAs: row.owner,
    message: row.message,
    automationId: row.id,
  } as const;
  if (verdict.kind === "fired") {
    const { id, rows, committed } = deps.runs.order({ ...order, version: verdict.version });
    writing.rows.push(...rows);
    writing.committed ??= committed;
    return id;
  }
  if (verdict.kind !== "error") return undefined;
  const { kind: _, version = row.target_version, ...broken } = verdict;
  const { id, rows } = deps.runs.orderFailed({ ...order, ...broken, version });
  writing.rows.push(...rows);
  return id;
}

function addDispatch(
  writing: Writing,
  row: AutomationRow,
  verdict: Verdict,
  { runId, now, next }: { runId: string | undefined; now: number; next: number | null },
): void {
  const about = { workspaceId: row.workspace_id, kind: "schedule", ref: row.id } as const;
  switch (verdict.kind) {
    case "retrying": {
      const { reason: summary, diagnostics, waitMs } = verdict;
      // What is in Error stays listed as such, whatever else is in the way.
      const state = row.error_reason === null ? "retrying" : "action_needed";
      const details = diagnostics === undefined ? {} : { diagnostics };
      writing.failures.push({ ...about, state, summary, nextAttemptAt: now + waitMs, ...details });
      break;
    }
    case "error": {
      const { reason: summary, diagnostics } = verdict;
      const details = diagnostics === undefined ? {} : { diagnostics };
      writing.failures.push({ ...about, state: "action_needed", summary, ...details });
      break;
    }
    case "fired":
      if (row.failing === 1 && runId !== undefined)
        writing.recoveries.push({ workspaceId: row.workspace_id, ref: row.id, runId });
      break;
    case "settled":
    case "skipped":
    case "blocked":
    case "queued":
      if (row.attempts > 0) {
        const at = verdict.kind === "blocked" ? null : next;
        writing.postponed.push({ workspaceId: row.workspace_id, ref: row.id, at });
      }
      break;
  }
}

function addUnreadable(
  writing: Writing,
  row: AutomationRow,
  { reason, settled, now }: { reason: string; settled: boolean; now: number },
): void {
  const state = { ...row, error_reason: reason, waiting_reason: null, attempts: 0, failing: 1 };
  writing.states.push({ row, state: { ...state, due_at: now + unreadableMs } });
  if (settled) return;
  const scheduledFor = row.next_run_at ?? now;
  writing.rows.push(fireRow({ ...alone(row.id, scheduledFor), outcome: "error", reason, recorded_at: now }));
  writing.failures.push({
    ...{ workspaceId: row.workspace_id, kind: "schedule", ref: row.id },
    ...{ state: "action_needed", summary: reason },
  });
}

async function store(tx: Tx, { dispatches }: SettleDeps, writing: Writing): Promise<void> {
  await insertAll(tx, writing.rows);
  await saveStates(tx, writing.states);
  if (writing.failures.length > 0) await dispatches.failed(tx, ...writing.failures);
  for (const recovery of writing.recoveries)
    await dispatches.recovered(tx, { ...recovery, kind: "schedule" });
  for (const { at, ...ref } of writing.postponed)
    await dispatches.postponed(tx, { ...ref, kind: "schedule" }, at);
  if (writing.committed) afterCommit(tx, writing.committed);
}
