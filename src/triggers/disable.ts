import type { Clock } from "../platform/clock.ts";
import type { Tx } from "../platform/db/index.ts";
import { type TriggerRow, updateAsOf } from "./store.ts";
import type { RequestSync } from "./subscription-job.ts";

/**
 * Disables a trigger for a reason that its owner did not choose, and has the provider told. Nothing happens to one that
 * was changed since `row` was read.
 */
export async function disableFor(
  tx: Tx,
  { clock, requestSync }: { clock: Clock; requestSync: RequestSync },
  row: TriggerRow,
  reason: string,
  change: Pick<Partial<TriggerRow>, "owner"> = {},
): Promise<void> {
  const disabled = await updateAsOf(tx, row, {
    ...change,
    ...{ enabled: 0, disabled_reason: reason, state: "pending", error: null },
    ...{ revision: row.revision + 1, updated_at: clock() },
  });
  if (disabled) await requestSync(tx, row.id);
}
