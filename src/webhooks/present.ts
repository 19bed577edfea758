import { toInstant } from "../platform/clock.ts";
import { hookPath } from "./receive.ts";
import type { Webhook } from "./schema.ts";
import { toolsOf, type WebhookRow } from "./store.ts";

/** `baseUrl` is the service's public address; '' when it is not known. */
export function presentWebhook(row: WebhookRow, baseUrl: string): Webhook {
  return {
    id: row.id,
    agent: row.agent,
    name: row.name,
    owner: row.owner,
    url: baseUrl + hookPath.replace("{id}", row.id),
    enabled: row.enabled === 1,
    tools: toolsOf(row) ?? null,
    signed: row.signing_secret !== null,
    createdAt: toInstant(row.created_at),
    updatedAt: toInstant(row.updated_at),
    ...(row.last_called_at === null ? {} : { lastCalledAt: toInstant(row.last_called_at) }),
  };
}
