import { insertAll, type Tx } from "../platform/db/index.ts";
import type { Schedules } from "./cron.ts";
import { fireRow, settledOccurrences } from "./fire-store.ts";
import { type Missed, missedBefore } from "./next-occurrence.ts";
import type { FireOutcome } from "./schema.ts";
import type { AutomationRow } from "./store.ts";

/**
 * Gives what is due and was not started a row that says why it never will be. Call it before the occurrence is
 * taken from an automation that the transaction has locked.
 */
export async function settlePending(
  tx: Tx,
  schedules: Schedules,
  row: AutomationRow,
  { outcome, reason, now }: { outcome: FireOutcome; reason: string; now: number },
): Promise<void> {
  const first = row.next_run_at;
  if (first === null || first > now) return;
  const pending = pendingOf(schedules, row, first, now);
  const { last } = pending;
  const isSettled = await settledOccurrences(tx, [{ automationId: row.id, instants: [last] }]);
  if (isSettled(row.id, last)) return;
  const count = pending.count();
  const occurrence = { automation_id: row.id, scheduled_for: last, first_scheduled_for: first, count };
  const told = { outcome, reason, run_id: null, run_as: null, recorded_at: now };
  await insertAll(tx, [fireRow({ ...occurrence, ...told })]);
}

function pendingOf(schedules: Schedules, row: AutomationRow, first: number, now: number): Missed {
  try {
    return missedBefore(schedules(row.schedule, row.timezone), first, now + 1);
  } catch {
    // A schedule that cannot be read any more: one occurrence is known.
    return { first, last: first, count: () => 1 };
  }
}
