import { z } from "zod";
import { readPayload } from "../deliveries/index.ts";
import type { IntegrationEvent } from "../integrations/index.ts";
import { fromJson, type Queryable } from "../platform/db/index.ts";

const Text = z.string().nullable();

const StoredEvent = z.object({
  id: z.string(),
  kind: z.enum(["trigger", "trigger_disabled", "account_expired", "unknown"]),
  type: Text,
  triggerId: Text,
  triggerUuid: Text,
  triggerSlug: Text,
  accountId: Text,
  userId: Text,
  toolkit: Text,
  reason: Text,
  data: z.record(z.string(), z.unknown()),
}) satisfies z.ZodType<IntegrationEvent>;

/** The event of a delivery; undefined when the delivery was removed meanwhile. */
export async function readEvent(q: Queryable, deliveryId: string): Promise<IntegrationEvent | undefined> {
  const payload = await readPayload(q, deliveryId);
  return payload && fromJson(StoredEvent, payload.toString("utf8"));
}
