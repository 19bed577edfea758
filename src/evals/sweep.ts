import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { regularly } from "../platform/regularly.ts";
import { isFinal, type Runs } from "../runs/index.ts";
import { caseJob } from "./case-job.ts";
import type { Closing } from "./close.ts";
import { evalRunsOf, openSuites, type SuiteRow } from "./store.ts";

export interface SweepDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
  runs: Runs;
  closing: Closing;
}

const sweepMs = 30_000;

/** Younger suites are on their way. */
const minAgeMs = 30_000;

const suitesAtOnce = 100;

/**
 * Makes sure that no suite stays open for ever: what was to be evaluated and has lost its job gets another, and
 * a suite whose runs are gone ends as an error. In the usual course of things it finds nothing.
 */
export function createSweep({ db, clock, logger, queue, runs, closing }: SweepDeps) {
  async function sweep(): Promise<void> {
    for (const suite of await openSuites(db.read, clock() - minAgeMs, suitesAtOnce)) await look(suite);
  }

  async function look(suite: SuiteRow): Promise<void> {
    const rows = await evalRunsOf(db.read, [suite.id]);
    const open = rows.filter(({ evaluated_at }) => evaluated_at === null);
    const known = await runs.find(open.map(({ run_id }) => run_id));
    if (rows.length === 0 || open.some(({ run_id }) => !known.has(run_id))) {
      const error = "Runs of this suite are gone; queue it again.";
      await db.transaction((tx) => closing.fail(tx, suite, rows, error));
      return;
    }
    const ended = [...known.values()].filter(isFinal).map(({ id }) => id);
    // With every result there, any of the jobs closes the suite.
    const due = open.length === 0 ? rows.slice(0, 1).map(({ run_id }) => run_id) : ended;
    if (due.length === 0) return;
    await db.transaction(async (tx) => {
      for (const runId of due) await queue.enqueue(tx, caseJob(runId));
    });
  }

  return {
    sweep,
    /** Sweeps now and then. Returns how to stop it. */
    start: () =>
      regularly(sweepMs, sweep, (error) => logger.warn({ err: error }, "open suites could not be looked at")),
  };
}
