import { alongIndex, type Queryable, type Tx } from "../platform/db/index.ts";
import type { DispatchKind, DispatchState, ListDispatches } from "./schema.ts";

/** A row of `dispatches`. `open_ref` is `ref` until the recovery. */
export interface DispatchRow {
  id: string;
  workspace_id: string;
  kind: DispatchKind;
  ref: string;
  open_ref: string | null;
  state: DispatchState;
  failed_at: number;
  attempt: number;
  next_attempt_at: number | null;
  summary: string;
  diagnostics: string | null;
  recovered_at: number | null;
  recovery_run_id: string | null;
}

/** What names the open failure of something. */
export interface DispatchRef {
  workspaceId: string;
  kind: DispatchKind;
  ref: string;
}

/** What a later failure changes in the row of the first one. */
const latest = ["state", "failed_at", "attempt", "next_attempt_at", "summary", "diagnostics"] as const;

const batch = 200;

/** The open failures of these, by `ref`, locked until the transaction ends. */
export async function lockOpen(
  tx: Tx,
  kind: DispatchKind,
  refs: readonly string[],
): Promise<Map<string, DispatchRow>> {
  const found = new Map<string, DispatchRow>();
  for (let from = 0; from < refs.length; from += batch) {
    const rows: DispatchRow[] = await tx("dispatches")
      .whereIn("open_ref", refs.slice(from, from + batch))
      .where({ kind })
      .orderBy("open_ref")
      .forUpdate();
    for (const row of rows) found.set(row.ref, row);
  }
  return found;
}

/** Adds failures; what is open already becomes like the row that is given for it. */
export async function putFailures(tx: Tx, rows: readonly DispatchRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += batch) {
    await tx("dispatches")
      .insert(rows.slice(from, from + batch))
      .onConflict(["open_ref", "kind"])
      .merge([...latest]);
  }
}

/** Closes the open failure of one, if there is one. */
export async function closeFailure(
  tx: Tx,
  { workspaceId, kind, ref }: DispatchRef,
  recovery: { at: number; runId: string },
): Promise<void> {
  await tx("dispatches")
    .where({ open_ref: ref, kind, workspace_id: workspaceId })
    .update({
      open_ref: null,
      state: "recovered" satisfies DispatchState,
      next_attempt_at: null,
      recovered_at: recovery.at,
      recovery_run_id: recovery.runId,
    });
}

/** Says of the open failure of one, if there is one, when it is tried again; null when that is not known. */
export async function setNextAttempt(
  tx: Tx,
  { workspaceId, kind, ref }: DispatchRef,
  nextAttemptAt: number | null,
): Promise<void> {
  await tx("dispatches")
    .where({ open_ref: ref, kind, workspace_id: workspaceId })
    .update({ next_attempt_at: nextAttemptAt });
}

/** Takes the open failure of one back, if there is one. */
export async function deleteOpen(tx: Tx, { workspaceId, kind, ref }: DispatchRef): Promise<void> {
  await tx("dispatches").where({ open_ref: ref, kind, workspace_id: workspaceId }).delete();
}

/** Those of these that have an open failure. */
export async function openRefs(q: Queryable, refs: readonly string[]): Promise<string[]> {
  return q("dispatches").whereIn("open_ref", refs).pluck("open_ref");
}

/** Newest first, one more than the limit when there are more. */
export async function listDispatches(
  q: Queryable,
  workspaceId: string,
  { state, kind, limit, before }: ListDispatches,
): Promise<DispatchRow[]> {
  const index = state === undefined ? "dispatches_list" : "dispatches_state";
  const query = alongIndex(q, "dispatches", index)
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(limit + 1);
  if (state !== undefined) query.where({ state });
  if (kind !== undefined) query.where({ kind });
  if (before !== undefined) query.where("id", "<", before);
  return query;
}
