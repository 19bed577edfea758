import type { Tx } from "../platform/db/index.ts";
import {
  casesOf,
  closeSuite,
  type EvalResult,
  evalRunsOf,
  hasOpenRuns,
  isFinalSuite,
  lockSuite,
  markRunning,
  storeResult,
} from "./store.ts";
import { countPassed } from "./tally.ts";

/**
 * Stores what one run came to, and closes the suite when it was the last. The suite's row is locked meanwhile:
 * of several that finish at once, one is the last. Without a result it only looks whether all are in.
 */
export async function recordResult(
  tx: Tx,
  suiteId: string,
  last: { runId: string; result: EvalResult } | undefined,
  now: number,
): Promise<void> {
  const suite = await lockSuite(tx, suiteId);
  if (!suite || isFinalSuite(suite)) return;
  if (last) await storeResult(tx, last.runId, last.result, now);
  if (await hasOpenRuns(tx, suiteId)) {
    if (suite.status === "queued") await markRunning(tx, suiteId);
    return;
  }
  const passedCount = countPassed(casesOf(suite), await evalRunsOf(tx, [suiteId]));
  const status = passedCount === suite.total_count ? "passed" : "failed";
  await closeSuite(tx, suiteId, { status, passedCount, now });
}
