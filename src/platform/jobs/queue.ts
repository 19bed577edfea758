import type { Clock } from "../clock.ts";
import { afterCommit, type Database, type Rows, type Tx } from "../db/index.ts";
import { notFound } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { deadJobs, type JobRow, reviveJob } from "./store.ts";

export interface JobRequest {
  kind: string;
  /** Anything that JSON can hold. */
  payload: unknown;
  /** While a job with this key is kept, no second one is added. */
  uniqueKey?: string;
  /** Milliseconds until it is due; 0 by default. */
  delayMs?: number;
}

export interface JobQueue {
  /** Adds a job in the caller's transaction: it exists exactly when the caller's change does. */
  enqueue(tx: Tx, request: JobRequest): Promise<void>;
  /** The same as a row for a grouped commit; the caller has to call `wake` once it is committed. */
  row(request: JobRequest): Rows[number];
  /** Has this process's worker look for jobs of that kind now. */
  wake(kind: string): void;
  onWake(listener: (kind: string) => void): void;
  listDead(limit: number, before?: string): Promise<JobRow[]>;
  /** Queues a dead job again. Throws 404. */
  retryDead(tx: Tx, id: string): Promise<void>;
}

/**
 * A job due now is dated back by this much, so that no difference between this process's clock and the
 * database's can hide it from the claim that its insertion wakes. Order is kept: all are dated back alike.
 */
const clockSlack = 60_000;

export function createJobQueue(db: Database, ids: Ids, clock: Clock): JobQueue {
  let listener: (kind: string) => void = () => {};

  const row = ({ kind, payload, uniqueKey, delayMs = 0 }: JobRequest): Rows[number] => {
    const now = clock();
    return {
      table: "jobs",
      row: {
        id: ids("job"),
        kind,
        payload: JSON.stringify(payload),
        unique_key: uniqueKey ?? null,
        state: "queued",
        run_at: delayMs > 0 ? now + delayMs : now - clockSlack,
        attempt: 0,
        created_at: now,
      },
    };
  };

  return {
    row,
    async enqueue(tx, request) {
      const insert = tx("jobs").insert(row(request).row);
      // On a key that is held this changes nothing, and the caller's transaction goes on.
      if (request.uniqueKey === undefined) await insert;
      else await insert.onConflict("unique_key").merge({ unique_key: request.uniqueKey });
      if (!request.delayMs) afterCommit(tx, () => listener(request.kind));
    },
    wake: (kind) => listener(kind),
    onWake(next) {
      listener = next;
    },
    listDead: (limit, before) => deadJobs(db.read, limit, before),
    async retryDead(tx, id) {
      if (!(await reviveJob(db, tx, id)))
        throw notFound("No dead job has this id; GET /jobs lists those there are.");
      const kind: string | undefined = (await tx("jobs").where({ id }).first("kind"))?.kind;
      if (kind !== undefined) afterCommit(tx, () => listener(kind));
    },
  };
}
