import type { Queryable, Rows, Tx } from "../platform/db/index.ts";
import type { FireOutcome, ListFires } from "./schema.ts";

/**
 * A row of `schedule_fires`: what became of an occurrence, or of several in a row up to `scheduled_for`. Instants in
 * epoch milliseconds.
 */
export interface FireRow {
  automation_id: string;
  scheduled_for: number;
  outcome: FireOutcome;
  reason: string | null;
  run_id: string | null;
  run_as: string | null;
  count: number;
  first_scheduled_for: number;
  recorded_at: number;
}

/** How long an occurrence's row is kept. */
const keepMs = 180 * 86_400_000;

/** Rows removed in one transaction; what is left over goes with the next one. */
const mostAtOnce = 5_000;

export const fireRow = (row: FireRow): Rows[number] => ({ table: "schedule_fires", row: { ...row } });

/** Tells of occurrences whether a row has answered for them already. */
export async function settledOccurrences(
  tx: Tx,
  occurrences: readonly { automationId: string; instants: readonly number[] }[],
): Promise<(automationId: string, instant: number) => boolean> {
  const ids = occurrences.map(({ automationId }) => automationId);
  // Nearly always none: what is due lies behind everything that was settled, unless the clock was set back.
  const rows: Pick<FireRow, "automation_id" | "scheduled_for" | "first_scheduled_for">[] = await tx(
    "schedule_fires",
  )
    .whereIn("automation_id", ids)
    .where("scheduled_for", ">=", Math.min(...occurrences.flatMap(({ instants }) => instants)))
    .select("automation_id", "scheduled_for", "first_scheduled_for");
  const ofAutomation = Map.groupBy(rows, (row) => row.automation_id);
  return (automationId, instant) =>
    ofAutomation
      .get(automationId)
      ?.some((row) => row.first_scheduled_for <= instant && instant <= row.scheduled_for) ?? false;
}

/** The last occurrence that a row answers for; undefined when there is none. */
export async function latestSettled(tx: Tx, automationId: string): Promise<number | undefined> {
  const row: Pick<FireRow, "scheduled_for"> | undefined = await tx("schedule_fires")
    .where({ automation_id: automationId })
    .orderBy("scheduled_for", "desc")
    .first("scheduled_for");
  return row?.scheduled_for;
}

/** Latest occurrence first, one more than the limit when there are more. */
export async function listFires(
  q: Queryable,
  automationId: string,
  { limit, before }: ListFires,
): Promise<FireRow[]> {
  const query = q("schedule_fires")
    .where({ automation_id: automationId })
    .orderBy("scheduled_for", "desc")
    .limit(limit + 1);
  return before === undefined ? query : query.where("scheduled_for", "<", before);
}

export async function deleteFires(tx: Tx, automationId: string): Promise<void> {
  await tx("schedule_fires").where({ automation_id: automationId }).delete();
}

/** Removes rows that have had their time. Returns how many. */
export async function forgetOldFires(tx: Tx, now: number): Promise<number> {
  const old: Pick<FireRow, "automation_id" | "scheduled_for">[] = await tx("schedule_fires")
    .where("recorded_at", "<", now - keepMs)
    .orderBy("recorded_at")
    .limit(mostAtOnce)
    .select("automation_id", "scheduled_for");
  if (old.length === 0) return 0;
  return tx("schedule_fires")
    .where("recorded_at", "<", now - keepMs)
    .whereIn("automation_id", [...new Set(old.map((row) => row.automation_id))])
    .delete();
}
