import { z } from "zod";
import { Instant } from "../platform/http/index.ts";

export const Delivery = z
  .strictObject({
    id: z.string(),
    deliveryId: z.string().describe("X-GitHub-Delivery, as GitHub's own list of deliveries shows it."),
    event: z.string(),
    action: z.string().nullable().describe("Null until it was worked off, and for events without one."),
    receivedAt: Instant,
    state: z.enum(["received", "done", "ignored", "failed"]),
    reason: z.string().optional().describe("Why it was ignored or failed, or what an admin should know."),
    attempts: z.int().nonnegative(),
  })
  .meta({ id: "Delivery" });
