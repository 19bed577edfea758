import type { Tx } from "../platform/db/index.ts";
import type { Runs } from "../runs/index.ts";
import type { Closing } from "./close.ts";
import { evalRunsOf, isFinalSuite, lockSuite } from "./store.ts";

export interface SupersedeDeps {
  closing: Closing;
  runs: Pick<Runs, "cancelAll">;
}

/**
 * Makes the function that ends suites which nobody waits for any more: those that are open end as an error with
 * the reason, and their runs are cancelled. Suites that have ended stay as they are.
 */
export function createSupersede({ closing, runs }: SupersedeDeps) {
  return async (tx: Tx, workspaceId: string, suiteIds: readonly string[], reason: string): Promise<void> => {
    // Always in the same order: two that supersede the same suites do not wait for each other.
    for (const id of suiteIds.toSorted()) {
      const suite = await lockSuite(tx, id);
      if (suite?.workspace_id !== workspaceId || isFinalSuite(suite)) continue;
      const rows = await evalRunsOf(tx, [id]);
      await closing.fail(tx, suite, rows, reason);
      const open = rows.filter(({ evaluated_at }) => evaluated_at === null);
      await runs.cancelAll(
        tx,
        open.map(({ run_id }) => run_id),
      );
    }
  };
}
