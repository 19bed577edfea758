import { alongIndex, columnsById, type Queryable, type Tx, valueById } from "../platform/db/index.ts";
import type { AutomationStatus, ListAutomations, Overlap, TargetVersion } from "./schema.ts";

/** What the scheduler writes of an automation; instants in epoch milliseconds. */
export interface AutomationState {
  paused_reason: string | null;
  error_reason: string | null;
  /** Why the occurrence that is due has not been started yet. */
  waiting_reason: string | null;
  /** Tries of that occurrence that failed because the repository could not be read. */
  attempts: number;
  /** 1 while a failure of it is open in the dispatch history. */
  failing: number;
  /** The occurrence that is next; null while the automation is disabled or paused. */
  next_run_at: number | null;
  /** When to look at that occurrence. */
  due_at: number | null;
  last_fire_at: number | null;
  last_run_id: string | null;
}

/** A row of `automations`. */
export interface AutomationRow extends AutomationState {
  id: string;
  workspace_id: string;
  agent: string;
  schedule: string;
  timezone: string;
  message: string;
  owner: string;
  target_version: TargetVersion;
  enabled: number;
  overlap: Overlap;
  created_at: number;
  updated_at: number;
}

/** What is read of a due automation before it is locked. */
export type DueAutomation = Pick<
  AutomationRow,
  "id" | "workspace_id" | "agent" | "target_version" | "owner" | "due_at"
>;

export async function insertAutomation(tx: Tx, row: AutomationRow): Promise<void> {
  await tx("automations").insert(row);
}

export async function findAutomation(
  q: Queryable,
  workspaceId: string,
  id: string,
): Promise<AutomationRow | undefined> {
  return q("automations").where({ id, workspace_id: workspaceId }).first();
}

/** The automation, locked until the transaction ends: nothing of it fires meanwhile. */
export async function lockAutomation(
  tx: Tx,
  workspaceId: string,
  id: string,
): Promise<AutomationRow | undefined> {
  return tx("automations").where({ id, workspace_id: workspaceId }).forUpdate().first();
}

export async function updateAutomation(tx: Tx, id: string, change: Partial<AutomationRow>): Promise<void> {
  await tx("automations").where({ id }).update(change);
}

export async function deleteAutomation(tx: Tx, id: string): Promise<void> {
  await tx("automations").where({ id }).delete();
}

/** Newest first, one more than the limit when there are more. */
export async function listAutomations(
  q: Queryable,
  workspaceId: string,
  { agent, status, limit, before }: ListAutomations,
): Promise<AutomationRow[]> {
  const query = alongIndex(q, "automations", "automations_list")
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(limit + 1);
  if (agent !== undefined) query.where({ agent });
  if (before !== undefined) query.where("id", "<", before);
  if (status !== undefined) narrow(query, status);
  return query;
}

/** The conditions that the status of a row follows from; see `statusOf`. */
function narrow(query: ReturnType<Queryable["queryBuilder"]>, status: AutomationStatus): void {
  if (status === "paused") {
    query.whereNotNull("paused_reason");
    return;
  }
  query.whereNull("paused_reason");
  if (status === "Error") query.whereNotNull("error_reason");
  else query.whereNull("error_reason").where({ enabled: status === "enabled" ? 1 : 0 });
}

/** Automations that are due at `now`, in the order of their instants, after that one of the page before. */
export async function dueAutomations(
  q: Queryable,
  now: number,
  limit: number,
  after: Pick<DueAutomation, "id" | "due_at"> | undefined,
): Promise<DueAutomation[]> {
  const query = q("automations")
    .where("due_at", "<=", now)
    .orderBy(["due_at", "id"])
    .limit(limit)
    .select("id", "workspace_id", "agent", "target_version", "owner", "due_at");
  if (!after) return query;
  // Said twice: MySQL enters an index by the first of the two, but not by a comparison of pairs.
  return query
    .where("due_at", ">=", after.due_at)
    .whereRaw("(due_at, id) > (?, ?)", [after.due_at, after.id]);
}

/** Those of them that are still due, locked until the transaction ends; what another process has locked is left out. */
export async function lockDue(tx: Tx, ids: readonly string[], now: number): Promise<AutomationRow[]> {
  return tx("automations")
    .whereIn("id", ids)
    .where("due_at", "<=", now)
    .orderBy("id")
    .forUpdate()
    .skipLocked();
}

/** The next instants at which something is due, each once. */
export async function upcomingInstants(
  q: Queryable,
  from: number,
  until: number,
  limit: number,
): Promise<number[]> {
  return q("automations")
    .where("due_at", ">", from)
    .where("due_at", "<=", until)
    .distinct("due_at")
    .orderBy("due_at")
    .limit(limit)
    .pluck("due_at");
}

const stateColumns = [
  "paused_reason",
  "error_reason",
  "waiting_reason",
  "attempts",
  "failing",
  "next_run_at",
  "due_at",
  "last_fire_at",
  "last_run_id",
] as const satisfies (keyof AutomationState)[];

/**
 * Stores what a sweep has made of automations that it has locked. Throws, which rolls everything back, when one of
 * them is no longer at the occurrence that the sweep saw.
 */
export async function saveStates(tx: Tx, states: readonly Change[]): Promise<void> {
  if (states.length === 0) return;
  const ids = states.map(({ row }) => row.id);
  const seen = states.map(({ row }) => [row.id, row.next_run_at] as const);
  const changed = await tx("automations")
    .whereIn("id", ids)
    .where({ next_run_at: valueById(tx, seen) })
    .update(
      columnsById(
        tx,
        stateColumns,
        states.map(({ row, state }) => [row.id, state]),
      ),
    );
  if (changed !== states.length) throw new Error("An automation changed while it was locked.");
}

type Change = { row: AutomationRow; state: AutomationState };

/** Has what waits for the repository looked at now. Returns how many that are. */
export async function retryWaiting(tx: Tx, workspaceId: string, now: number): Promise<number> {
  return tx("automations")
    .where({ workspace_id: workspaceId })
    .where("attempts", ">", 0)
    .where("due_at", ">", now)
    .update({ due_at: now });
}

/** Whether any of the workspace's automations waits for the repository. */
export async function anyWaiting(q: Queryable, workspaceId: string): Promise<boolean> {
  const row = await q("automations")
    .where({ workspace_id: workspaceId })
    .where("attempts", ">", 0)
    .whereNotNull("due_at")
    .first("id");
  return row !== undefined;
}

/** Automations of a member, oldest first. */
export async function automationsOf(
  q: Queryable,
  workspaceId: string,
  owner: string,
): Promise<AutomationRow[]> {
  return q("automations").where({ workspace_id: workspaceId, owner }).orderBy("id");
}

/** The same, locked until the transaction ends. */
export async function lockAutomationsOf(
  tx: Tx,
  workspaceId: string,
  owner: string,
): Promise<AutomationRow[]> {
  return tx("automations").where({ workspace_id: workspaceId, owner }).orderBy("id").forUpdate();
}
