import type { Clock } from "../platform/clock.ts";
import type { Tx } from "../platform/db/index.ts";
import { conflict, notFound } from "../platform/errors.ts";
import type { Actor, Writes } from "../platform/http/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { planJob } from "./plan-job.ts";
import { currentHead, type HeadRow, lockHeads, updateHead } from "./store.ts";

/** What an operator asks for. */
export interface Approval {
  actor: Actor;
  /** Undefined for a text that is no number. */
  number: number | undefined;
  headSha: string;
  write: Writes;
}

export interface ApproveDeps {
  clock: Clock;
  queue: JobQueue;
}

/**
 * Makes the function that releases a commit from a fork: exactly the one that was looked at, so that a push in
 * between is not approved with it. Answers the head; once approved it answers alike. Throws 404 for a number that
 * is not known, 409 when that commit is not the head or nothing waits.
 */
export function createApprove({ clock, queue }: ApproveDeps) {
  return async (
    tx: Tx,
    { workspaceId, login }: Pick<Actor, "workspaceId" | "login">,
    number: number,
    headSha: string,
  ): Promise<HeadRow> => {
    const locked = await lockHeads(tx, workspaceId, number, headSha);
    const head = locked.find(({ head_sha }) => head_sha === headSha);
    if (!head || head.state === "superseded") {
      if (!head && !(await currentHead(tx, workspaceId, number))) throw unknownPullRequest();
      throw conflict(
        "This commit is not the head of the pull request; look at the newest one and approve that.",
      );
    }
    if (head.state !== "awaiting_approval") {
      if (head.approved_by !== null) return head;
      throw conflict("This commit does not wait for an approval; its evals run without one.");
    }
    const approved: HeadRow = { ...head, approved_by: login, state: "planning", updated_at: clock() };
    await updateHead(tx, head.id, approved);
    await queue.enqueue(tx, planJob(approved));
    return approved;
  };
}

export const unknownPullRequest = () =>
  notFound("No pull request of this number has been evaluated; GET /pull-requests lists those that were.");
