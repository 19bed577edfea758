import { z } from "zod";
import { toInstant } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import { conflict, notFound } from "../platform/errors.ts";
import { defineEndpoint, type Endpoint, toPage } from "../platform/http/index.ts";
import type { Replayers } from "./ports.ts";
import { Delivery, DeliveryId, ListDeliveries } from "./schema.ts";
import { type DeliveryRow, listDeliveries, lockDelivery } from "./store.ts";

/** What was sent to the service, and how to have it worked off again; for workspace admins. */
export function deliveryEndpoints({ db, replayers }: { db: Database; replayers: Replayers }): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/deliveries",
      id: "listDeliveries",
      tag: "Management",
      role: "workspace_admin",
      summary: "Deliveries of the last 30 days and what became of them, newest first.",
      query: ListDeliveries,
      status: 200,
      response: z.strictObject({ deliveries: z.array(Delivery), nextBefore: z.string().nullable() }),
      async handle({ actor, query }) {
        const { page, nextBefore } = toPage(
          await listDeliveries(db.read, actor.workspaceId, query),
          query.limit,
        );
        return { deliveries: page.map(present), nextBefore };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/deliveries/{id}/replay",
      id: "replayDelivery",
      tag: "Management",
      role: "workspace_admin",
      summary: "Work a delivery off again; one that still waits is left as it is.",
      params: DeliveryId,
      status: 202,
      response: z.strictObject({ id: z.string() }),
      handle: ({ actor, params: { id }, write }) =>
        write.transaction(async (tx) => {
          await replay(tx, replayers, actor.workspaceId, id);
          return { answer: { id }, target: id };
        }),
    }),
  ];
}

async function replay(tx: Tx, replayers: Replayers, workspaceId: string, id: string): Promise<void> {
  const delivery = await lockDelivery(tx, workspaceId, id);
  if (!delivery) throw notFound(`No delivery of the last 30 days has the id ${id}.`);
  if (delivery.state === "received") return;
  const replayer = replayers[delivery.source];
  if (!replayer) throw conflict(`Deliveries of ${delivery.source} cannot be replayed; have it sent again.`);
  await replayer(tx, delivery);
}

function present(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    source: row.source,
    ...(row.ref === null ? {} : { ref: row.ref }),
    deliveryId: row.sender_id ?? row.external_id,
    event: row.event,
    action: row.action,
    receivedAt: toInstant(row.received_at),
    state: row.state,
    ...(row.reason === null ? {} : { reason: row.reason }),
    attempts: row.attempts,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
  };
}
