import type { Database, Tx } from "../db/index.ts";
import type { Logger } from "../logger.ts";
import type { JobKind } from "./job-kind.ts";
import { buryJob, expiredJobs, holdExpiredJob, type JobRow, requeueJob } from "./store.ts";

export interface RecoveryOptions {
  db: Database;
  logger: Logger;
  kinds: ReadonlyMap<string, JobKind>;
  /** Called when a job of the kind may have been put back. */
  look(kind: JobKind): void;
}

export interface Recovery {
  /** Makes a job dead and tells its feature in the same transaction. False: the lease was lost. */
  bury(row: JobRow, definition: JobKind, error: string): Promise<boolean>;
  /** Puts back jobs that this process holds and has not finished. */
  handBack(jobs: readonly JobRow[]): Promise<void>;
  /** Puts back, or makes dead, the jobs of workers that died. */
  sweep(): Promise<void>;
}

/** What becomes of jobs that were claimed and not finished. */
export function createRecovery({ db, logger, kinds, look }: RecoveryOptions): Recovery {
  function bury(row: JobRow, definition: JobKind, error: string): Promise<boolean> {
    return db.transaction((tx) => buryIn(tx, row, definition, error));
  }

  async function buryIn(tx: Tx, row: JobRow, definition: JobKind, error: string): Promise<boolean> {
    if (!(await buryJob(tx, row, error))) return false;
    const payload = definition.payload.safeParse(parseJson(row.payload));
    if (payload.success) await definition.onDead?.(tx, payload.data, error);
    return true;
  }

  async function handBack(jobs: readonly JobRow[]): Promise<void> {
    if (jobs.length === 0) return;
    await db.transaction(async (tx) => {
      for (const job of jobs) await requeueJob(db, tx, job, 0, null);
    });
  }

  /** Gives jobs of workers that died to others. Every worker does it; the fence lets one of them succeed. */
  async function sweep(): Promise<void> {
    for (const row of await expiredJobs(db, [...kinds.keys()], 200)) {
      const definition = kinds.get(row.kind);
      if (!definition) continue;
      const log = logger.child({ job: row.id, kind: row.kind, attempt: row.attempt });
      // One job that cannot be put back must not keep those behind it.
      await takeBack(row, definition).then(
        (taken) => taken && log.warn("a job's lease ran out"),
        (error) => log.warn({ err: error }, "a job whose lease ran out could not be put back"),
      );
      look(definition);
    }
  }

  function takeBack(row: JobRow, definition: JobKind): Promise<boolean> {
    const why = "The worker that had the job stopped.";
    return db.transaction(async (tx) => {
      if (!(await holdExpiredJob(db, tx, row))) return false;
      if (row.attempt >= definition.maxAttempts) return buryIn(tx, row, definition, why);
      return requeueJob(db, tx, row, 0, why);
    });
  }

  return { bury, handBack, sweep };
}

/** Undefined, which fits no payload, for a text that is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
