import { z } from "zod";
import type { CommitStatuses } from "../commit-status/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { JobKind, JobRequest } from "../platform/jobs/index.ts";
import { describeHead } from "./describe.ts";
import { judgeHeads } from "./judge-heads.ts";
import { combine, commitStateOf, type JudgedHead } from "./outcome.ts";
import type { Suites } from "./ports.ts";
import { reportOn } from "./report.ts";
import { lockHeadsOfCommit, updateHead } from "./store.ts";

export interface SettleDeps {
  db: Database;
  clock: Clock;
  evals: Pick<Suites, "states" | "verdicts">;
  commitStatuses: Pick<CommitStatuses, "want">;
}

const settleJobKind = "pull_request.settle";

const Payload = z.object({ workspaceId: z.string(), sha: z.string() });

/** The job that works out what a commit's heads have come to. While it waits there is no second one. */
export const settleJob = (workspaceId: string, sha: string): JobRequest => ({
  kind: settleJobKind,
  payload: { workspaceId, sha } satisfies z.infer<typeof Payload>,
  uniqueKey: `${settleJobKind}:${workspaceId}:${sha}`,
});

/** Makes the kind of job that settles commits: what their heads have come to, and what the commit is to show. */
export function createSettle(deps: SettleDeps): JobKind<typeof Payload> {
  return {
    kind: settleJobKind,
    payload: Payload,
    // Each needs a second connection of the pool beside its transaction's.
    concurrency: 2,
    maxAttempts: 50,
    backoff: { base: 1_000, cap: 60_000 },
    handle: (job) =>
      deps.db.transaction(async (tx) => {
        const { workspaceId, sha } = job.payload;
        const heads = await lockHeadsOfCommit(tx, workspaceId, sha);
        // Before anything is read: a suite that ends from here on waits with its own job until this one is gone,
        // and all whose jobs were not needed because of this one have ended visibly.
        await job.complete(tx);
        if (heads.length === 0) return;
        const judged = await judgeHeads(tx, deps.evals, workspaceId, heads);
        await store(tx, judged, deps.clock());
        await show(tx, deps.commitStatuses, workspaceId, sha, judged);
      }),
  };
}

async function store(tx: Tx, judged: readonly JudgedHead[], now: number): Promise<void> {
  for (const { head, state } of judged) {
    if (state === head.state) continue;
    const ended = commitStateOf(state) !== "pending";
    await updateHead(tx, head.id, { state, updated_at: now, finished_at: ended ? now : null });
  }
}

async function show(
  tx: Tx,
  commitStatuses: SettleDeps["commitStatuses"],
  workspaceId: string,
  sha: string,
  judged: readonly JudgedHead[],
): Promise<void> {
  const combined = combine(judged);
  if (!combined) return;
  const { state, deciding } = combined;
  const description = describeHead(deciding);
  await commitStatuses.want(tx, workspaceId, { sha, state, description, report: reportOn(judged) });
}
