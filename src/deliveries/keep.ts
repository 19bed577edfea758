import type { Clock } from "../platform/clock.ts";
import { type Database, isUniqueViolation } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { StoredPayload } from "./payload.ts";
import { type DeliveryRow, deliveryPrefix, deliveryRow, sameDelivery } from "./store.ts";

export interface KeepDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  queue: JobQueue;
}

export interface NewDelivery
  extends Pick<DeliveryRow, "workspace_id" | "source" | "external_id" | "sender_id" | "ref" | "event"> {
  stored: StoredPayload;
  /** What works it off, or why nothing has to. */
  next: { kind: string; payload?: Record<string, unknown> } | { ignored: string };
}

/**
 * Stores a delivery together with the job that works it off, whose payload is `deliveryId` and what is given. When
 * this settles both are on disk; one that is there already, by source and `external_id`, changes nothing.
 */
export async function keepDelivery(
  { db, ids, clock, queue }: KeepDeps,
  { stored, next, ...about }: NewDelivery,
): Promise<void> {
  const waits = "kind" in next;
  const row: DeliveryRow = {
    ...about,
    id: ids(deliveryPrefix),
    action: null,
    ...(waits
      ? { state: "received", reason: null, attempts: 0 }
      : { state: "ignored", reason: next.ignored, attempts: 1 }),
    run_id: null,
    received_at: clock(),
  };
  const rows = [deliveryRow(row, stored)];
  if (waits) rows.push(queue.row({ kind: next.kind, payload: { deliveryId: row.id, ...next.payload } }));
  try {
    await db.commit({ rows, committed: () => waits && queue.wake(next.kind) });
  } catch (error) {
    if (!isUniqueViolation(error, sameDelivery)) throw error;
  }
}
