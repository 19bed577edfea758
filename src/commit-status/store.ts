import { z } from "zod";
import { fromJson, type Queryable, type Tx, toJson } from "../platform/db/index.ts";
import type { CheckRunReport, CommitState } from "../repositories/index.ts";
import type { StatusPost, WantedStatus } from "./ports.ts";

/** A row of `commit_statuses`: what one commit is to show, and how far the host has been told. */
export interface CommitStatusRow {
  id: string;
  workspace_id: string;
  sha: string;
  state: CommitState;
  description: string;
  /** JSON of a `CheckRunReport`. */
  report: string;
  /** Grows with every change of the three above. */
  revision: number;
  /** What became of the newest revision's status. */
  post_state: Exclude<StatusPost["state"], "none">;
  post_reason: string | null;
  /** How often bringing the newest revision to the host has failed. */
  tries: number;
  check_run_id: number | null;
  /** When the sweeper makes sure that there is a job; null as long as nothing is to be done. */
  sweep_at: number | null;
  created_at: number;
  /** When the newest revision was asked for. */
  updated_at: number;
}

const Report = z.object({
  title: z.string(),
  summary: z.string(),
  annotations: z.array(z.object({ path: z.string(), line: z.int(), message: z.string(), title: z.string() })),
});

/** The report as it is kept: two that say the same are the same text. */
export const reportText = (report: CheckRunReport): string => toJson(Report.parse(report));

export const reportOf = ({ report }: Pick<CommitStatusRow, "report">): CheckRunReport =>
  fromJson(Report, report);

/** The commit's row, made unless there is one, and locked until the transaction ends. Revision 0: it is new. */
export async function placeStatus(
  tx: Tx,
  key: Pick<CommitStatusRow, "id" | "workspace_id">,
  { sha, state, description, report }: WantedStatus,
  now: number,
): Promise<CommitStatusRow> {
  const fresh: CommitStatusRow = {
    ...key,
    sha,
    state,
    description,
    report: reportText(report),
    revision: 0,
    post_state: "pending",
    post_reason: null,
    tries: 0,
    check_run_id: null,
    sweep_at: null,
    created_at: now,
    updated_at: now,
  };
  // Of two that come first at the same moment one waits here for the other, and finds its row.
  await tx("commit_statuses").insert(fresh).onConflict(["workspace_id", "sha"]).merge({ sha });
  const found = { workspace_id: key.workspace_id, sha };
  return (await tx("commit_statuses").where(found).forUpdate().first()) ?? fresh;
}

/** The row, locked until the transaction ends. */
export async function lockStatus(tx: Tx, id: string): Promise<CommitStatusRow | undefined> {
  return tx("commit_statuses").where({ id }).forUpdate().first();
}

export async function updateStatus(tx: Tx, id: string, change: Partial<CommitStatusRow>): Promise<void> {
  await tx("commit_statuses").where({ id }).update(change);
}

export async function findPosts(
  q: Queryable,
  workspaceId: string,
  shas: readonly string[],
): Promise<Pick<CommitStatusRow, "sha" | "post_state" | "post_reason">[]> {
  return q("commit_statuses")
    .where({ workspace_id: workspaceId })
    .whereIn("sha", shas)
    .select("sha", "post_state", "post_reason");
}

/** Ids of those that the sweeper is to look at, longest due first. */
export async function idsToSweep(q: Queryable, now: number, limit: number): Promise<string[]> {
  return q("commit_statuses").where("sweep_at", "<", now).orderBy("sweep_at").limit(limit).pluck("id");
}
