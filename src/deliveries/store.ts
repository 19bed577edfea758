import { alongIndex, type Queryable, type Rows, type Tx } from "../platform/db/index.ts";
import { idFloor } from "../platform/ids.ts";
import { decodePayload, type StoredPayload } from "./payload.ts";
import type { DeliverySource, DeliveryState, ListDeliveries } from "./schema.ts";

/** A row of `deliveries` without its payload. */
export interface DeliveryRow {
  id: string;
  workspace_id: string;
  source: DeliverySource;
  /** What comes again from the source under this name is the same delivery. */
  external_id: string;
  /** What the sender called it, where `external_id` is the service's own. */
  sender_id: string | null;
  /** The webhook, trigger or chat app that it was sent to. */
  ref: string | null;
  event: string;
  action: string | null;
  state: DeliveryState;
  reason: string | null;
  attempts: number;
  run_id: string | null;
  received_at: number;
}

/** All columns but those of the payload, which lists read past. */
const columns = [
  "id",
  "workspace_id",
  "source",
  "external_id",
  "sender_id",
  "ref",
  "event",
  "action",
  "state",
  "reason",
  "attempts",
  "run_id",
  "received_at",
] as const satisfies readonly (keyof DeliveryRow)[];

/** What ids of deliveries begin with. */
export const deliveryPrefix = "dlv";

/** Name of the key that two deliveries of one source and id violate. */
export const sameDelivery = "external_id";

/** A new delivery for a grouped commit; see `encodePayload`. */
export const deliveryRow = (row: DeliveryRow, stored: StoredPayload): Rows[number] => ({
  table: "deliveries",
  row: { ...row, encoding: stored.encoding, payload: stored.payload },
});

/** What kind of event it is; undefined when the delivery was removed meanwhile. */
export async function findEvent(q: Queryable, id: string): Promise<string | undefined> {
  return (await q("deliveries").where({ id }).first("event"))?.event;
}

/** The body as it came; undefined when the delivery was removed meanwhile. */
export async function readPayload(q: Queryable, id: string): Promise<Buffer | undefined> {
  const stored: StoredPayload | undefined = await q("deliveries").where({ id }).first("payload", "encoding");
  return stored && decodePayload(stored);
}

/** Newest first, one more than the limit when there are more. */
export async function listDeliveries(
  q: Queryable,
  workspaceId: string,
  { source, state, limit, before }: ListDeliveries,
): Promise<DeliveryRow[]> {
  const query = fromDeliveries(q, source, state)
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(limit + 1)
    .select(...columns);
  if (source !== undefined) query.where({ source });
  if (state !== undefined) query.where({ state });
  if (before !== undefined) query.where("id", "<", before);
  return query;
}

/** Most deliveries are done: that state alone leaves too many for its index to be the better one. */
function fromDeliveries(q: Queryable, source: string | undefined, state: DeliveryState | undefined) {
  if (state !== undefined && (state !== "done" || source === undefined))
    return alongIndex(q, "deliveries", "deliveries_state");
  return source === undefined ? q("deliveries") : alongIndex(q, "deliveries", "deliveries_source");
}

/** The delivery, locked until the transaction ends. */
export async function lockDelivery(
  tx: Tx,
  workspaceId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  return tx("deliveries")
    .where({ id, workspace_id: workspaceId })
    .forUpdate()
    .first(...columns);
}

/** Notes how one attempt ended. */
export async function settleDelivery(
  tx: Tx,
  id: string,
  outcome: Partial<Pick<DeliveryRow, "state" | "reason" | "action" | "run_id">>,
): Promise<void> {
  await tx("deliveries")
    .where({ id })
    .update({ ...outcome, attempts: tx.raw("attempts + 1") });
}

/** Gives the delivery up; its last attempt is noted already. */
export async function failDelivery(tx: Tx, id: string, reason: string): Promise<void> {
  await tx("deliveries").where({ id }).update({ state: "failed", reason });
}

/** Marks a delivery as received once more; the caller queues what works it off. */
export async function reopenDelivery(tx: Tx, id: string): Promise<void> {
  await tx("deliveries").where({ id }).update({ state: "received", reason: null });
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
