import { z } from "zod";
import { toInstant } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import { notFound } from "../platform/errors.ts";
import { defineEndpoint, type Endpoint, Page, toPage } from "../platform/http/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { Delivery } from "./schema.ts";
import { type ListedDelivery, listDeliveries, reopenDelivery } from "./store.ts";
import { deliveryJobKind } from "./work-off.ts";

/** What GitHub has sent, and how to have it worked off again; for workspace admins. */
export function deliveryEndpoints({ db, queue }: { db: Database; queue: JobQueue }): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/deliveries",
      id: "listDeliveries",
      tag: "Management",
      role: "workspace_admin",
      summary: "Deliveries of the last 30 days and what became of them, newest first.",
      query: Page,
      status: 200,
      response: z.strictObject({ deliveries: z.array(Delivery), nextBefore: z.string().nullable() }),
      async handle({ actor, query }) {
        const rows = await listDeliveries(db.read, actor.workspaceId, query.limit + 1, query.before);
        const { page, nextBefore } = toPage(rows, query.limit);
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
      params: z.strictObject({ id: z.string().max(64) }),
      status: 202,
      response: z.strictObject({ id: z.string() }),
      handle: ({ actor, params: { id }, write }) =>
        write.transaction(async (tx) => {
          const outcome = await reopenDelivery(tx, actor.workspaceId, id);
          if (outcome === "unknown") throw notFound(`No delivery of the last 30 days has the id ${id}.`);
          if (outcome === "reopened") {
            await queue.enqueue(tx, { kind: deliveryJobKind, payload: { deliveryId: id } });
          }
          return { answer: { id }, target: id };
        }),
    }),
  ];
}

function present(row: ListedDelivery): z.input<typeof Delivery> {
  return {
    id: row.id,
    deliveryId: row.external_id,
    event: row.event,
    action: row.action,
    receivedAt: toInstant(row.received_at),
    state: row.state,
    ...(row.reason === null ? {} : { reason: row.reason }),
    attempts: row.attempts,
  };
}
