import type { Queryable, Rows, Tx } from "../platform/db/index.ts";
import type { ChangeKind, ChangeStatus, ListAgentChanges } from "./schema.ts";

/** A row of `agent_changes`. */
export interface ChangeRow {
  id: string;
  workspace_id: string;
  kind: ChangeKind;
  agent: string;
  creating: string | null;
  agent_path: string;
  description: string;
  include_evals: number;
  requested_by: string;
  status: ChangeStatus;
  base_sha: string | null;
  /** JSON of `Draft`. */
  draft: string | null;
  eval_id: string | null;
  /** JSON of `Evaluation`. */
  evaluation: string | null;
  branch: string | null;
  commit_sha: string | null;
  url: string | null;
  error: string | null;
  created_at: number;
  updated_at: number;
  finished_at: number | null;
}

export const changeInsert = (row: ChangeRow): Rows[number] => ({ table: "agent_changes", row: { ...row } });

export async function findChange(
  q: Queryable,
  id: string,
  workspaceId?: string,
): Promise<ChangeRow | undefined> {
  const query = q("agent_changes").where({ id });
  if (workspaceId !== undefined) query.where({ workspace_id: workspaceId });
  return query.first();
}

/** Newest first, one more than the limit when there are more. */
export async function listChanges(
  q: Queryable,
  workspaceId: string,
  { agent, status, limit, before }: ListAgentChanges,
): Promise<ChangeRow[]> {
  const query = q("agent_changes").where({ workspace_id: workspaceId });
  if (agent !== undefined) query.where({ agent });
  if (status !== undefined) query.where({ status });
  if (before !== undefined) query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit + 1);
}

/** Whether somebody is creating an agent of that name now. */
export async function isBeingCreated(q: Queryable, workspaceId: string, name: string): Promise<boolean> {
  const found = await q("agent_changes").where({ workspace_id: workspaceId, creating: name }).first("id");
  return found !== undefined;
}

/** Changes a row that has not ended. */
export async function updateChange(tx: Tx, id: string, change: Partial<ChangeRow>): Promise<void> {
  await tx("agent_changes").where({ id, finished_at: null }).update(change);
}
