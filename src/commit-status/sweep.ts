import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { regularly } from "../platform/regularly.ts";
import { postJob, sweepAfterMs } from "./demand.ts";
import { idsToSweep, lockStatus, updateStatus } from "./store.ts";

export interface SweepDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
}

const sweepMs = 60_000;

const rowsAtOnce = 100;

/**
 * Makes sure that what is to be posted has a job: one that has its job keeps it, with the tries it has had. What
 * was given up stays so. In the usual course of things it finds nothing.
 */
export function createSweep({ db, clock, logger, queue }: SweepDeps) {
  async function sweep(): Promise<void> {
    for (const id of await idsToSweep(db.read, clock(), rowsAtOnce)) {
      await db.transaction(async (tx) => {
        // It may have been posted since it was found.
        const row = await lockStatus(tx, id);
        if (!row || row.sweep_at === null) return;
        await updateStatus(tx, id, { sweep_at: clock() + sweepAfterMs });
        await queue.enqueue(tx, postJob(id));
      });
    }
  }

  return {
    sweep,
    start: () =>
      regularly(sweepMs, sweep, (error) =>
        logger.warn({ err: error }, "commit statuses could not be looked at"),
      ),
  };
}
