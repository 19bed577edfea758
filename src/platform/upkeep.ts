import type { Clock } from "./clock.ts";
import type { Database, Tx } from "./db/index.ts";
import { forgetOldAnswers, forgetOldWindows } from "./http/index.ts";
import type { Logger } from "./logger.ts";

const intervalMs = 10 * 60_000;

/** Removes rows of a feature that have had their time; `now` in epoch milliseconds. */
export type Forget = (tx: Tx, now: number) => Promise<unknown>;

/**
 * Removes what has had its time: kept answers after a day, rate windows after two minutes, and what the
 * features name. Returns how to stop it.
 */
export function startUpkeep(
  db: Database,
  clock: Clock,
  logger: Logger,
  features: readonly Forget[],
): () => void {
  async function tidy(): Promise<void> {
    try {
      const now = clock();
      await db.transaction(async (tx) => {
        await forgetOldAnswers(tx, now);
        await forgetOldWindows(tx, now);
        for (const forget of features) await forget(tx, now);
      });
    } catch (error) {
      logger.warn({ err: error }, "old rows could not be removed");
    }
  }
  const timer = setInterval(() => void tidy(), intervalMs);
  return () => clearInterval(timer);
}
