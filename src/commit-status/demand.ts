import type { Clock } from "../platform/clock.ts";
import type { Tx } from "../platform/db/index.ts";
import type { JobQueue, JobRequest } from "../platform/jobs/index.ts";
import { type CommitStatusRow, updateStatus } from "./store.ts";

export const postJobKind = "commit_status.post";

/** The job that brings a commit's row to the host. While it is kept there is no second one. */
export const postJob = (id: string): JobRequest => ({
  kind: postJobKind,
  payload: { id },
  uniqueKey: `${postJobKind}:${id}`,
});

/** Whatever happens to a row's job, it is looked at again after this time, milliseconds. */
export const sweepAfterMs = 120_000;

/**
 * Begins the next revision of a row that the caller has locked, and queues its job, both in the caller's
 * transaction. A job that is being executed keeps its key and gets no successor: it locks the row before it
 * completes, and finds the revision there.
 */
export async function demand(
  tx: Tx,
  { queue, clock }: { queue: JobQueue; clock: Clock },
  { id, revision }: Pick<CommitStatusRow, "id" | "revision">,
  change: Partial<Pick<CommitStatusRow, "state" | "description" | "report">>,
): Promise<void> {
  const now = clock();
  await updateStatus(tx, id, {
    ...change,
    revision: revision + 1,
    post_state: "pending",
    post_reason: null,
    tries: 0,
    sweep_at: now + sweepAfterMs,
    updated_at: now,
  });
  await queue.enqueue(tx, postJob(id));
}
