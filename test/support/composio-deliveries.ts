import { createHmac, randomUUID } from "node:crypto";

/** The trigger that an event belongs to. */
export interface DeliveredTrigger {
  id: string;
  uuid: string;
  slug: string;
  accountId: string;
}

export interface ComposioDelivery {
  version: "V1" | "V2" | "V3";
  /** The payload as it is, or a trigger's event in the shape of the version. */
  event: { payload: unknown } | { trigger: DeliveredTrigger; userId: string; data: Record<string, unknown> };
  id?: string;
  /** Unix seconds; now unless given. */
  timestamp?: number;
  secret?: string;
}

/** Headers and body of a delivery as Composio signs it. */
export function signDelivery(secret: string, delivery: ComposioDelivery) {
  const id = delivery.id ?? `msg_${randomUUID()}`;
  const timestamp = String(delivery.timestamp ?? Math.floor(Date.now() / 1_000));
  const body = JSON.stringify(payloadOf(id, delivery));
  const mac = createHmac("sha256", delivery.secret ?? secret).update(`${id}.${timestamp}.${body}`);
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac.digest("base64")}`,
    "x-composio-webhook-version": delivery.version,
    "x-composio-delivery-attempt": "1",
  };
  return { headers, body };
}

function payloadOf(id: string, { version, event }: ComposioDelivery): unknown {
  if ("payload" in event) return event.payload;
  const { trigger, userId, data } = event;
  switch (version) {
    case "V3":
      return {
        id,
        timestamp: new Date().toISOString(),
        type: "composio.trigger.message",
        metadata: {
          log_id: "log_1",
          trigger_slug: trigger.slug,
          trigger_id: trigger.id,
          connected_account_id: trigger.accountId,
          auth_config_id: "ac_1",
          user_id: userId,
        },
        data,
      };
    case "V2":
      return {
        type: trigger.slug.toLowerCase(),
        timestamp: new Date().toISOString(),
        log_id: "log_1",
        data: {
          ...data,
          connection_id: randomUUID(),
          connection_nano_id: trigger.accountId,
          trigger_nano_id: trigger.id,
          trigger_id: trigger.uuid,
          user_id: userId,
        },
      };
    case "V1":
      return {
        trigger_name: trigger.slug,
        connection_id: trigger.accountId,
        trigger_id: trigger.id,
        payload: data,
        log_id: "log_1",
      };
  }
}
