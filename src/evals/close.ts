import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Tx } from "../platform/db/index.ts";
import type { RunSignals } from "../runs/index.ts";
import type { SuiteEnded } from "./ports.ts";
import {
  casesOf,
  closeSuite,
  type EvalResult,
  type EvalRunRow,
  evalRunsOf,
  hasOpenRuns,
  isFinalSuite,
  lockSuite,
  markRunning,
  type SuiteRow,
  storeResult,
} from "./store.ts";
import { countPassed } from "./tally.ts";

export interface ClosingDeps {
  clock: Clock;
  signals: RunSignals;
  suiteEnded: SuiteEnded;
}

export type Closing = ReturnType<typeof createClosing>;

/** The ways in which a suite ends. Each ends it at most once and tells `suiteEnded` in the same transaction. */
export function createClosing({ clock, signals, suiteEnded }: ClosingDeps) {
  async function end(
    tx: Tx,
    suite: SuiteRow,
    { status, error }: { status: "passed" | "failed" | "error"; error?: string },
    passedCount: number,
  ): Promise<void> {
    const ended = await closeSuite(tx, suite.id, { status, passedCount, error, now: clock() });
    if (!ended) return;
    await suiteEnded(tx, { workspaceId: suite.workspace_id, commitSha: suite.commit_sha });
    afterCommit(tx, () => signals.notify(suite.id));
  }

  /**
   * Stores what one run came to, and closes the suite when it was the last. The suite's row is locked
   * meanwhile: of several that finish at once, one is the last. Without a result it only looks whether all are
   * in. Results of a suite that has ended come too late and are not stored.
   */
  async function record(
    tx: Tx,
    suiteId: string,
    last: { runId: string; result: EvalResult } | undefined,
  ): Promise<void> {
    const suite = await lockSuite(tx, suiteId);
    if (!suite || isFinalSuite(suite)) return;
    if (last) await storeResult(tx, last.runId, last.result, clock());
    if (await hasOpenRuns(tx, suiteId)) {
      if (suite.status === "queued") await markRunning(tx, suiteId);
      return;
    }
    const passedCount = countPassed(casesOf(suite), await evalRunsOf(tx, [suiteId]));
    await end(tx, suite, { status: passedCount === suite.total_count ? "passed" : "failed" }, passedCount);
  }

  /** Ends an open suite before all of its results are in; `runs` are its own. */
  async function fail(tx: Tx, suite: SuiteRow, runs: readonly EvalRunRow[], error: string): Promise<void> {
    await end(tx, suite, { status: "error", error }, countPassed(casesOf(suite), runs));
  }

  return { record, fail };
}
