import type { Tx } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import { demand } from "./demand.ts";
import type { StatusPost, WantedStatus } from "./ports.ts";
import { createPostJob, type PostDeps, type PostJob } from "./post-job.ts";
import { type CommitStatusRow, findPosts, placeStatus, reportText } from "./store.ts";
import { createSweep } from "./sweep.ts";

export interface CommitStatusesDeps extends PostDeps {
  ids: Ids;
}

export interface CommitStatuses {
  /**
   * Asks, in the caller's transaction, for what a commit is to show from now on. One that changes nothing posts
   * nothing again, unless the one before was skipped or given up: then it is tried anew.
   */
  want(tx: Tx, workspaceId: string, wanted: WantedStatus): Promise<void>;
  /** What became of the newest that was asked for on these commits; those with none are left out. */
  posts(workspaceId: string, shas: readonly string[]): Promise<Map<string, StatusPost>>;
  job: PostJob;
  /** Queues a job again for everything that is still to be posted and may have lost its own. */
  sweep(): Promise<void>;
  /** Sweeps now and then. Returns how to stop it. */
  start(): () => void;
}

/** Shows on each commit one status and one check run: whatever was asked for last. */
export function createCommitStatuses(deps: CommitStatusesDeps): CommitStatuses {
  const { db, ids, clock } = deps;
  return {
    async want(tx, workspaceId, wanted) {
      const key = { id: ids("cst"), workspace_id: workspaceId };
      const row = await placeStatus(tx, key, wanted, clock());
      if (shows(row, wanted)) return;
      const { state, description } = wanted;
      await demand(tx, deps, row, { state, description, report: reportText(wanted.report) });
    },
    async posts(workspaceId, shas) {
      const rows = await findPosts(db.read, workspaceId, shas);
      return new Map(rows.map((row) => [row.sha, present(row)]));
    },
    job: createPostJob(deps),
    ...createSweep(deps),
  };
}

/** Whether the host has that already, or is going to be told. */
function shows(row: CommitStatusRow, { state, description, report }: WantedStatus): boolean {
  if (row.revision === 0 || row.post_state === "skipped" || row.post_state === "failed") return false;
  return row.state === state && row.description === description && row.report === reportText(report);
}

function present({
  post_state,
  post_reason,
}: Pick<CommitStatusRow, "post_state" | "post_reason">): StatusPost {
  return { state: post_state, ...(post_reason === null ? {} : { reason: post_reason }) };
}
