import type { Queryable, Rows, Tx } from "../platform/db/index.ts";
import { idFloor } from "../platform/ids.ts";

/** `received` until it was worked off. */
export type DeliveryState = "received" | "done" | "ignored" | "failed";

/** A row of `deliveries` without its payload. */
export interface DeliveryRow {
  id: string;
  workspace_id: string;
  source: "github";
  external_id: string;
  event: string;
  action: string | null;
  state: DeliveryState;
  reason: string | null;
  attempts: number;
  received_at: number;
}

const listed = [
  "id",
  "external_id",
  "event",
  "action",
  "state",
  "reason",
  "attempts",
  "received_at",
] as const;
export type ListedDelivery = Pick<DeliveryRow, (typeof listed)[number]>;

/** A new delivery for a grouped commit; `payload` is gzip. */
export const deliveryRow = (row: DeliveryRow, payload: Buffer): Rows[number] => ({
  table: "deliveries",
  row: { ...row, payload },
});

/** What ids of deliveries begin with. */
export const deliveryPrefix = "dlv";

/** Name of the key that two deliveries of one id violate. */
export const sameDelivery = "external_id";

/** Undefined when it was removed meanwhile. */
export async function findDelivery(
  q: Queryable,
  id: string,
): Promise<{ event: string; payload: Uint8Array } | undefined> {
  return q("deliveries").where({ id }).first("event", "payload");
}

/** Newest first; `before` is an id. */
export async function listDeliveries(
  q: Queryable,
  workspaceId: string,
  limit: number,
  before: string | undefined,
): Promise<ListedDelivery[]> {
  const rows = q("deliveries").where({ workspace_id: workspaceId }).orderBy("id", "desc").limit(limit);
  return (before === undefined ? rows : rows.where("id", "<", before)).select(...listed);
}

/** Notes how one attempt ended. */
export async function noteAttempt(
  tx: Tx,
  id: string,
  outcome: Partial<Pick<DeliveryRow, "state" | "reason" | "action">>,
): Promise<void> {
  await tx("deliveries")
    .where({ id })
    .update({ ...outcome, attempts: tx.raw("attempts + 1") });
}

/** Gives the delivery up; its last attempt is noted already. */
export async function failDelivery(tx: Tx, id: string, reason: string): Promise<void> {
  await tx("deliveries").where({ id }).update({ state: "failed", reason });
}

/** Marks a delivery that was worked off as received once more. */
export async function reopenDelivery(
  tx: Tx,
  workspaceId: string,
  id: string,
): Promise<"reopened" | "waiting" | "unknown"> {
  const delivery = () => tx("deliveries").where({ id, workspace_id: workspaceId });
  const changed = await delivery()
    .whereNot({ state: "received" })
    .update({ state: "received", reason: null });
  if (changed === 1) return "reopened";
  return (await delivery().first("id")) === undefined ? "unknown" : "waiting";
}

const keepMs = 30 * 24 * 60 * 60 * 1000;
const mostAtOnce = 1_000;

/** Removes the oldest deliveries that came more than 30 days ago, a thousand at the most. Returns their number. */
export async function forgetOldDeliveries(tx: Tx, now: number): Promise<number> {
  const old: string[] = await tx("deliveries")
    .where("id", "<", idFloor(deliveryPrefix, now - keepMs))
    .orderBy("id")
    .limit(mostAtOnce)
    .pluck("id");
  return old.length === 0 ? 0 : tx("deliveries").whereIn("id", old).delete();
}
