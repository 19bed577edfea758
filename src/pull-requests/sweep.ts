import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { regularly } from "../platform/regularly.ts";
import { planJob } from "./plan-job.ts";
import { settleJob } from "./settle.ts";
import { stuckHeads } from "./store.ts";

export interface SweepDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
}

const sweepMs = 60_000;

/** Heads that moved later are on their way. */
const unmovedMs = 120_000;

const headsAtOnce = 200;

/**
 * Makes sure that no head stays on its way for ever: one that has lost its job gets another, one that has it keeps
 * it. In the usual course of things it changes nothing.
 */
export function createSweep({ db, clock, logger, queue }: SweepDeps) {
  async function sweep(): Promise<void> {
    const stuck = await stuckHeads(db.read, clock() - unmovedMs, headsAtOnce);
    for (const head of stuck) {
      const job = head.state === "planning" ? planJob(head) : settleJob(head.workspace_id, head.head_sha);
      await db.transaction((tx) => queue.enqueue(tx, job));
    }
  }

  return {
    sweep,
    /** Sweeps now and then. Returns how to stop it. */
    start: () =>
      regularly(sweepMs, sweep, (error) =>
        logger.warn({ err: error }, "heads on their way could not be looked at"),
      ),
  };
}
