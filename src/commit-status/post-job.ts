import { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import { errorText } from "../platform/errors.ts";
import { type Job, type JobKind, type JobQueue, LeaseLost, RetryLater } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { type PullRequestHost, RepositoryUnavailable } from "../repositories/index.ts";
import type { Settings } from "../settings/index.ts";
import { demand, postJobKind } from "./demand.ts";
import type { IsHead } from "./ports.ts";
import { type CommitStatusRow, lockStatus, updateStatus } from "./store.ts";
import { checkRunToSend, type Link, statusToSend } from "./what-to-send.ts";

export interface PostDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
  /** Undefined where commits have no status, as in a local repository. */
  host: PullRequestHost | undefined;
  settings: Pick<Settings, "evals">;
  isHead: IsHead;
  /** Undefined as long as the service does not know its own address. */
  link: Link;
}

const Payload = z.object({ id: z.string() });
type Post = Job<z.infer<typeof Payload>>;
export type PostJob = JobKind<typeof Payload>;

type Change = Partial<Pick<CommitStatusRow, "post_state" | "post_reason" | "tries" | "check_run_id">>;

/** With the backoff below that is about an hour and a half without an answer, and more when the host names times. */
const mostTries = 40;

/** Rate limits end within an hour; a host that names a later time is asked nevertheless. */
const mostWaitMs = 65 * 60_000;

/**
 * Tells the host what a commit is to show, one revision after the other until the newest is settled: first its
 * status, then its check run. Each answer is stored before the next call, and by a worker that still has the job.
 *
 * What the host took and we could not store any more (the process died in between) is sent once more: a status
 * that says the same again does no harm, but of a check run whose number was lost a second one is made.
 */
export function createPostJob(deps: PostDeps): PostJob {
  const { db, clock, logger, host, settings, isHead, link } = deps;
  /** A permission that is missing is missing for every commit, and is told once. */
  let toldRefusal: string | undefined;

  async function handle(job: Post): Promise<void> {
    let row = await begin(job);
    while (row !== undefined) {
      const current: CommitStatusRow = row;
      row = await step(job, current).catch((error: unknown) => fail(job, current, error));
    }
  }

  /** The row as it is to be posted; undefined when nothing is to be done, and the job is completed. */
  function begin(job: Post): Promise<CommitStatusRow | undefined> {
    return db.commit({
      run: async (tx) => {
        const row = await lockStatus(tx, job.payload.id);
        const open = row !== undefined && row.sweep_at !== null;
        await (open ? job.hold(tx) : job.complete(tx));
        return open ? row : undefined;
      },
    });
  }

  /**
   * Stores what came of a revision and, with `end`, completes the job: unless a newer revision was asked for
   * meanwhile, which is answered to be posted next. The row is locked, so none can come in between.
   */
  function record(job: Post, { id, revision }: CommitStatusRow, change: Change, end: "end" | "go on") {
    return db.commit<CommitStatusRow | undefined>({
      run: async (tx) => {
        const row = await lockStatus(tx, id);
        if (row === undefined || (row.revision === revision && end === "end")) {
          await job.complete(tx);
          await updateStatus(tx, id, { ...change, sweep_at: null });
          return undefined;
        }
        await job.hold(tx);
        // Of what is known now only the check run concerns the newer revision too.
        const { check_run_id = row.check_run_id } = change;
        const kept = row.revision === revision ? change : { check_run_id };
        await updateStatus(tx, id, kept);
        return { ...row, ...kept };
      },
    });
  }

  /**
   * The same for what the host took. A worker that lost the job meanwhile may have put an old state over one that
   * another worker posted: then the newest is posted once more.
   */
  async function recordTaken(...taken: Parameters<typeof record>): Promise<CommitStatusRow | undefined> {
    try {
      return await record(...taken);
    } catch (error) {
      if (error instanceof LeaseLost) await postAgain(taken[1].id);
      throw error;
    }
  }

  function postAgain(id: string): Promise<void> {
    return db.transaction(async (tx) => {
      const row = await lockStatus(tx, id);
      if (row !== undefined) await demand(tx, deps, row, {});
    });
  }

  const step = (job: Post, row: CommitStatusRow) =>
    row.post_state === "pending" ? postStatus(job, row) : postCheckRun(job, row);

  async function postStatus(job: Post, row: CommitStatusRow): Promise<CommitStatusRow | undefined> {
    const skip = (reason: string) => record(job, row, { post_state: "skipped", post_reason: reason }, "end");
    if (host === undefined) return skip("This repository has no place for statuses.");
    if (!(await settings.evals(row.workspace_id)).postStatus)
      return skip("Posting is switched off: see postStatus in the settings.");
    if (!(await isHead(row.workspace_id, row.sha))) return skip("The head has moved on.");
    job.signal.throwIfAborted();
    const answer = await host.postStatus(statusToSend(row, link));
    if ("refused" in answer) {
      noteRefusal(row, answer.refused);
      return record(job, row, { post_state: "skipped", post_reason: answer.refused }, "go on");
    }
    toldRefusal = undefined;
    return recordTaken(job, row, { post_state: "posted", post_reason: null }, "go on");
  }

  function noteRefusal({ sha }: CommitStatusRow, reason: string): void {
    const level = reason === toldRefusal ? "debug" : "info";
    logger[level]({ commit: sha, reason }, "a commit status was refused");
    toldRefusal = reason;
  }

  /** A status that was refused keeps no check run from being posted: each has a permission of its own. */
  async function postCheckRun(job: Post, row: CommitStatusRow): Promise<CommitStatusRow | undefined> {
    if (host === undefined) return record(job, row, {}, "end");
    job.signal.throwIfAborted();
    const answer = await host.postCheckRun(checkRunToSend(row, link));
    if ("refused" in answer) {
      logger.debug({ commit: row.sha, reason: answer.refused }, "a check run was refused");
      return record(job, row, { check_run_id: null }, "end");
    }
    // What comes after a completed one is another check run.
    return recordTaken(job, row, { check_run_id: row.state === "pending" ? answer.id : null }, "end");
  }

  /** Counts the try and throws for the next one, or settles the revision as it is after the last. */
  async function fail(job: Post, row: CommitStatusRow, error: unknown): Promise<CommitStatusRow | undefined> {
    if (error instanceof LeaseLost || job.signal.aborted) throw error;
    const tries = row.tries + 1;
    const failure = row.post_state === "pending" ? { post_reason: errorText(error) } : {};
    if (tries < mostTries) {
      await record(job, row, { ...failure, tries }, "go on");
      throw laterIfNamed(error, clock());
    }
    logger.error({ err: error, commit: row.sha }, "the status or check run of a commit was given up");
    const state = row.post_state === "pending" ? "failed" : row.post_state;
    return record(job, row, { ...failure, tries, post_state: state }, "end");
  }

  return {
    kind: postJobKind,
    payload: Payload,
    // GitHub wants writes to come one by one; a few more, because each waits for reading calls too.
    concurrency: 4,
    // The tries of a revision are counted in its row: a job may outlive several, and one that is dead would keep
    // its key from the next.
    maxAttempts: 1_000,
    backoff: { base: 2_000, cap: 300_000 },
    handle,
    // Only when workers died again and again.
    onDead: (tx, { id }, error) =>
      updateStatus(tx, id, { post_state: "failed", post_reason: error, sweep_at: null }),
  };
}

/** What the job throws: with the host's own time for the next try, if it named one. */
function laterIfNamed(error: unknown, now: number): unknown {
  if (!(error instanceof RepositoryUnavailable) || error.retryAt === undefined) return error;
  return new RetryLater(error.message, Math.min(mostWaitMs, Math.max(0, error.retryAt - now)));
}
