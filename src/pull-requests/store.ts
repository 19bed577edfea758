import type { Queryable, Tx } from "../platform/db/index.ts";
import type { HeadState, ListPullRequests } from "./schema.ts";

/** A row of `pull_request_heads`: one commit that a pull request or a merge group has had as its head. */
export interface HeadRow {
  id: string;
  workspace_id: string;
  /** 0 for a merge group. */
  number: number;
  merge_branch: string | null;
  head_sha: string;
  base_ref: string;
  /** Head of the base branch. */
  base_head: string;
  /** What the head was compared with, once it was. */
  base_sha: string | null;
  author: string;
  author_belongs: number;
  run_as: string | null;
  fork: number;
  approved_by: string | null;
  state: HeadState;
  /** Why the state is what it is, where the agents do not tell. */
  reason: string | null;
  created_at: number;
  /** When the state or what it rests on changed. */
  updated_at: number;
  finished_at: number | null;
}

const superseded: HeadState = "superseded";

/** States in which something is still to come. */
export const openStates: readonly HeadState[] = ["awaiting_approval", "planning", "running"];

/** The heads that count: of a pull request there is one at the most, once its deliveries are worked off. */
export async function liveHeads(q: Queryable, workspaceId: string, number: number): Promise<HeadRow[]> {
  return q("pull_request_heads")
    .where({ workspace_id: workspaceId, number })
    .whereNot({ state: superseded })
    .orderBy("id");
}

/** Adds a head, unless the pull request has had that commit before. */
export async function placeHead(tx: Tx, row: HeadRow): Promise<void> {
  const { head_sha, number } = row;
  await tx("pull_request_heads")
    .insert(row)
    .onConflict(["workspace_id", "head_sha", "number"])
    .merge({ head_sha, number });
}

/** The pull request's heads that count and the one with that commit, locked until the transaction ends. */
export async function lockHeads(
  tx: Tx,
  workspaceId: string,
  number: number,
  sha: string | undefined,
): Promise<HeadRow[]> {
  // In the order of their ids, as everybody who locks several of them does.
  return tx("pull_request_heads")
    .where({ workspace_id: workspaceId, number })
    .where((either) => {
      either.whereNot({ state: superseded });
      if (sha !== undefined) either.orWhere({ head_sha: sha });
    })
    .orderBy("id")
    .forUpdate();
}

/** The heads that count of everything which proposes a commit, locked until the transaction ends. */
export async function lockHeadsOfCommit(tx: Tx, workspaceId: string, sha: string): Promise<HeadRow[]> {
  return tx("pull_request_heads")
    .where({ workspace_id: workspaceId, head_sha: sha })
    .whereNot({ state: superseded })
    .orderBy("id")
    .forUpdate();
}

export async function headsOfCommit(q: Queryable, workspaceId: string, sha: string): Promise<HeadRow[]> {
  return q("pull_request_heads")
    .where({ workspace_id: workspaceId, head_sha: sha })
    .whereNot({ state: superseded })
    .orderBy("id");
}

/** The head of a merge group, locked until the transaction ends. */
export async function lockMergeHead(tx: Tx, workspaceId: string, sha: string): Promise<HeadRow | undefined> {
  return tx("pull_request_heads")
    .where({ workspace_id: workspaceId, head_sha: sha, number: 0 })
    .forUpdate()
    .first();
}

export async function findHead(q: Queryable, id: string): Promise<HeadRow | undefined> {
  return q("pull_request_heads").where({ id }).first();
}

/** The head, locked until the transaction ends. */
export async function lockHead(tx: Tx, id: string): Promise<HeadRow | undefined> {
  return tx("pull_request_heads").where({ id }).forUpdate().first();
}

export async function updateHead(tx: Tx, id: string, change: Partial<HeadRow>): Promise<void> {
  await tx("pull_request_heads").where({ id }).update(change);
}

/** Newest first, one more than the limit when there are more. */
export async function listHeads(
  q: Queryable,
  workspaceId: string,
  { number, headSha, limit, before }: ListPullRequests,
): Promise<HeadRow[]> {
  const query = q("pull_request_heads").where({ workspace_id: workspaceId });
  if (number !== undefined) query.where({ number });
  if (headSha !== undefined) query.where({ head_sha: headSha });
  if (before !== undefined) query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit + 1);
}

/** The head that counts, else the newest of those that did. */
export async function currentHead(
  q: Queryable,
  workspaceId: string,
  number: number,
): Promise<HeadRow | undefined> {
  const heads = () =>
    q("pull_request_heads").where({ workspace_id: workspaceId, number }).orderBy("id", "desc");
  return (await heads().whereNot({ state: superseded }).first()) ?? heads().first();
}

/** Heads on their way that have not moved since an instant, longest unmoved first. */
export async function stuckHeads(q: Queryable, movedBefore: number, limit: number): Promise<HeadRow[]> {
  return q("pull_request_heads")
    .whereIn("state", ["planning", "running"] satisfies HeadState[])
    .where("updated_at", "<", movedBefore)
    .orderBy("updated_at")
    .limit(limit);
}
