import { z } from "zod";
import { shortLine } from "../../platform/short-line.ts";
import type { IntegrationEvent } from "../ports.ts";

const Text = z.string().min(1).max(500).nullish().catch(null);
const Data = z.record(z.string(), z.unknown());

const V3 = z.object({
  type: z.string().startsWith("composio."),
  metadata: z
    .object({
      trigger_slug: Text,
      trigger_id: Text,
      connected_account_id: Text,
      user_id: Text,
    })
    .partial()
    .catch({}),
  data: Data.catch({}),
});

/** The event's own fields lie beside these in `data`. */
const V2 = z.object({
  type: z.string().regex(/^\w+$/),
  data: Data.and(z.object({ trigger_nano_id: z.string().min(1).max(500) })),
});

const V1 = z.object({
  trigger_name: z.string().min(1).max(500),
  trigger_id: z.string().min(1).max(500),
  connection_id: Text,
  payload: Data.catch({}),
});

const TriggerDisabled = z.object({
  id: Text,
  connected_account_id: Text,
  trigger_name: Text,
  user_id: Text,
  disabled_reason: Text,
});

const AccountExpired = z.object({
  id: Text,
  user_id: Text,
  status_reason: Text,
  toolkit: z.object({ slug: Text }).nullish().catch(null),
});

const nothing = {
  kind: "unknown",
  type: null,
  triggerId: null,
  triggerUuid: null,
  triggerSlug: null,
  accountId: null,
  userId: null,
  toolkit: null,
  reason: null,
  data: {},
} as const satisfies Omit<IntegrationEvent, "id">;

/** Reads the three versions of Composio's payload; what is none of them is `unknown`. */
export function parseDelivery(deliveryId: string, body: Uint8Array): IntegrationEvent {
  const payload = parseJson(body);
  const v3 = V3.safeParse(payload);
  if (v3.success) return { id: deliveryId, ...nothing, ...fromV3(v3.data) };
  const v2 = V2.safeParse(payload);
  if (v2.success) return { id: deliveryId, ...nothing, ...fromV2(v2.data) };
  const v1 = V1.safeParse(payload);
  if (v1.success) return { id: deliveryId, ...nothing, ...fromV1(v1.data) };
  return { id: deliveryId, ...nothing };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function fromV3({ type, metadata, data }: z.infer<typeof V3>): Partial<IntegrationEvent> {
  switch (type) {
    case "composio.trigger.message":
      return {
        kind: "trigger",
        type,
        triggerId: metadata.trigger_id ?? null,
        triggerSlug: metadata.trigger_slug?.toUpperCase() ?? null,
        accountId: metadata.connected_account_id ?? null,
        userId: metadata.user_id ?? null,
        data,
      };
    case "composio.trigger.disabled": {
      const trigger = TriggerDisabled.parse(data);
      return {
        kind: "trigger_disabled",
        type,
        triggerId: trigger.id ?? null,
        triggerSlug: trigger.trigger_name?.toUpperCase() ?? null,
        accountId: trigger.connected_account_id ?? null,
        userId: trigger.user_id ?? null,
        reason: trigger.disabled_reason ? shortLine(trigger.disabled_reason, 100) : null,
      };
    }
    case "composio.connected_account.expired": {
      // The account's `state` has credentials, masked in part; only these fields go on.
      const account = AccountExpired.parse(data);
      return {
        kind: "account_expired",
        type,
        accountId: account.id ?? null,
        userId: account.user_id ?? metadata.user_id ?? null,
        toolkit: account.toolkit?.slug ?? null,
        reason: account.status_reason ? shortLine(account.status_reason, 100) : null,
      };
    }
    default:
      return { type: shortLine(type, 100) };
  }
}

function fromV2({ type, data: all }: z.infer<typeof V2>): Partial<IntegrationEvent> {
  const { connection_id: _, connection_nano_id, trigger_nano_id, trigger_id, user_id, ...data } = all;
  return {
    kind: "trigger",
    type,
    triggerId: trigger_nano_id,
    triggerUuid: Text.parse(trigger_id) ?? null,
    triggerSlug: type.toUpperCase(),
    accountId: Text.parse(connection_nano_id) ?? null,
    userId: Text.parse(user_id) ?? null,
    data,
  };
}

function fromV1({ trigger_name, trigger_id, connection_id, payload }: z.infer<typeof V1>) {
  const isNano = trigger_id.startsWith("ti_");
  return {
    kind: "trigger",
    type: trigger_name,
    triggerId: isNano ? trigger_id : null,
    triggerUuid: isNano ? null : trigger_id,
    triggerSlug: trigger_name.toUpperCase(),
    accountId: connection_id ?? null,
    data: payload,
  } satisfies Partial<IntegrationEvent>;
}
