import { z } from "zod";
import { Instant, Page } from "../platform/http/index.ts";

export const deliverySources = ["github", "webhook", "integration", "chat"] as const;
export type DeliverySource = (typeof deliverySources)[number];

/** `received` until it was worked off. */
export const deliveryStates = ["received", "done", "ignored", "failed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const Delivery = z
  .strictObject({
    id: z.string(),
    source: z.enum(deliverySources),
    ref: z.string().optional().describe("The webhook, trigger or chat app that it was sent to."),
    deliveryId: z
      .string()
      .describe("The sender's own name for it: X-GitHub-Delivery, webhook-id, Idempotency-Key. Else the id."),
    event: z.string().describe("Kind of event; for a webhook its name at that time."),
    action: z.string().nullable().describe("Null until it was worked off, and for events without one."),
    receivedAt: Instant,
    state: z.enum(deliveryStates),
    reason: z.string().optional().describe("Why it was ignored or failed, or what an admin should know."),
    attempts: z.int().nonnegative(),
    runId: z.string().optional().describe("The newest run that came of it."),
  })
  .meta({ id: "Delivery" });
export type Delivery = z.infer<typeof Delivery>;

export const ListDeliveries = Page.extend({
  source: z.enum(deliverySources).optional(),
  state: z.enum(deliveryStates).optional(),
});
export type ListDeliveries = z.infer<typeof ListDeliveries>;

export const DeliveryId = z.strictObject({ id: z.string().max(64) });
