import { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import { errorText } from "../platform/errors.ts";
import {
  type Job,
  type JobKind,
  type JobQueue,
  type JobRequest,
  RetryLater,
} from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { RepositoryUnavailable } from "../repositories/index.ts";
import { forgetAgents } from "./agent-store.ts";
import { createPlan, NoComparison, type Plan, type PlanDeps } from "./plan.ts";
import { settleJob } from "./settle.ts";
import { findHead, type HeadRow, lockHead, updateHead } from "./store.ts";

export interface PlanJobDeps extends PlanDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
}

const planJobKind = "pull_request.plan";

/** `askedAt` is the head's `updated_at`: whatever changes the head makes this plan a thing of the past. */
const Payload = z.object({ headId: z.string(), askedAt: z.number() });
type PlanJob = Job<z.infer<typeof Payload>>;

/** Waits grow to five minutes, half of that on average: about an hour in all. */
const maxAttempts = 22;
const backoff = { base: 2_000, cap: 300_000 };

/** The host may be some seconds behind its own deliveries: what it does not know at first may be there soon. */
const behindMs = 2_000;
const mostBehind = 4;

/** A listing that lacks something may be whole next time; some minutes later it would be. */
const mostIncomplete = 10;

/** The job that plans a head which was put into the state `planning` at its `updated_at`. */
export const planJob = ({ id, updated_at }: Pick<HeadRow, "id" | "updated_at">): JobRequest => ({
  kind: planJobKind,
  payload: { headId: id, askedAt: updated_at } satisfies z.infer<typeof Payload>,
  uniqueKey: `${planJobKind}:${id}:${updated_at}`,
});

/** The head is not to be planned any more, or anew. */
class Outdated extends Error {}

/** Makes the kind of job that plans heads and commits their suites. */
export function createPlanJob(deps: PlanJobDeps): JobKind<typeof Payload> {
  const { db, clock, queue, logger } = deps;
  const plan = createPlan(deps);

  async function handle(job: PlanJob): Promise<void> {
    const head = await findHead(db.read, job.payload.headId);
    if (!head || !isDue(head, job.payload.askedAt)) return;
    try {
      await commit(job, await planned(job, head));
    } catch (error) {
      if (!(error instanceof Outdated)) throw error;
    }
  }

  /** The plan, or the reason why there is none and will be none. */
  async function planned(job: PlanJob, head: HeadRow): Promise<Plan | { error: string }> {
    try {
      return await plan(head);
    } catch (error) {
      const wait = waitAfter(error);
      if (wait === undefined) throw error;
      const reason = errorText(error);
      if (job.attempt >= wait.mostTries) {
        logger.warn({ err: error, head: head.id }, "a head could not be planned");
        return { error: reason };
      }
      throw new RetryLater(reason, wait.delayMs);
    }
  }

  async function commit(job: PlanJob, outcome: Plan | { error: string }): Promise<void> {
    const run = async (tx: Tx) => {
      if (!(await end(tx, job.payload, outcome))) throw new Outdated();
      await job.complete(tx);
    };
    if ("error" in outcome) await db.commit({ run });
    else await db.commit({ run, rows: outcome.rows, committed: outcome.committed });
  }

  /** False, and nothing changed, when the head is not to be planned any more, or anew. */
  async function end(
    tx: Tx,
    { headId, askedAt }: z.infer<typeof Payload>,
    outcome: Plan | { error: string },
  ): Promise<boolean> {
    const head = await lockHead(tx, headId);
    if (!head || !isDue(head, askedAt)) return false;
    await forgetAgents(tx, headId);
    await updateHead(tx, headId, changeOf(outcome, clock()));
    await queue.enqueue(tx, settleJob(head.workspace_id, head.head_sha));
    return true;
  }

  return {
    kind: planJobKind,
    payload: Payload,
    concurrency: 4,
    maxAttempts,
    backoff,
    handle,
    async onDead(tx, payload, error) {
      logger.error({ head: payload.headId, reason: error }, "a head was given up");
      await end(tx, payload, { error: "The changed agents could not be found; deliver the event again." });
    },
  };
}

const isDue = ({ state, updated_at }: HeadRow, askedAt: number) =>
  state === "planning" && updated_at === askedAt;

function changeOf(outcome: Plan | { error: string }, now: number): Partial<HeadRow> {
  if ("error" in outcome) return { state: "error", reason: outcome.error, updated_at: now, finished_at: now };
  const { baseSha: base_sha, runAs: run_as, failure } = outcome;
  const planned = { base_sha, run_as, updated_at: now };
  if (failure === undefined) return { ...planned, state: "running" };
  return { ...planned, state: "failure", reason: failure, finished_at: now };
}

/** How to go on after a failure that is the host's; undefined for any other. */
function waitAfter(error: unknown): { mostTries: number; delayMs: number } | undefined {
  if (error instanceof NoComparison) return { mostTries: mostBehind, delayMs: behindMs };
  if (!(error instanceof RepositoryUnavailable)) return undefined;
  switch (error.reason) {
    case "not_found":
    case "forbidden":
      return { mostTries: mostBehind, delayMs: behindMs };
    case "incomplete":
      return { mostTries: mostIncomplete, delayMs: 0 };
    case "unreachable":
    case "rate_limited":
      return { mostTries: maxAttempts, delayMs: Math.max(0, (error.retryAt ?? 0) - Date.now()) };
  }
}
