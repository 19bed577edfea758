import { IntegrationFailure } from "../failure.ts";
import type { IntegrationClient, WebhookSubscription } from "../ports.ts";
import type { ComposioRequest } from "./request.ts";
import { Subscription, SubscriptionPage } from "./wire.ts";

const path = "/webhook_subscriptions";
const version = "V3";
const events = [
  "composio.trigger.message",
  "composio.trigger.disabled",
  "composio.connected_account.expired",
] as const;

/**
 * A Composio project has one webhook. Whoever else uses the project would lose their events if it were simply
 * written, so it is read first and left alone when it is somebody else's.
 */
export function composioSubscription(request: ComposioRequest): Pick<IntegrationClient, "ensureWebhook"> {
  return {
    async ensureWebhook(url, signal): Promise<WebhookSubscription> {
      const { items } = await request({ method: "GET", path, answer: SubscriptionPage, signal });
      const [foreign] = items.filter((item) => item.webhook_url !== url);
      if (foreign) throw foreignWebhook(foreign.webhook_url);
      const [own] = items;
      if (!own) {
        const body = { webhook_url: url, enabled_events: events, version };
        const made = await request({ method: "POST", path, body, answer: Subscription, signal });
        return { id: made.id, state: "created", secret: made.secret ?? null };
      }
      const complete = own.version === version && events.every((event) => own.enabled_events.includes(event));
      if (complete) return { id: own.id, state: "unchanged", secret: own.secret ?? null };
      const enabled_events = [...new Set([...own.enabled_events, ...events])];
      const changed = await request({
        method: "PATCH",
        path: `${path}/${encodeURIComponent(own.id)}`,
        body: { enabled_events, version },
        answer: Subscription,
        signal,
      });
      return { id: changed.id, state: "updated", secret: changed.secret ?? null };
    },
  };
}

/** Only the host is named: a path may hold a token. */
function foreignWebhook(url: string): IntegrationFailure {
  const host = URL.parse(url)?.host ?? "another address";
  return new IntegrationFailure(
    "refused",
    `This Composio project sends its events to ${host} already; use a project of its own for this workspace, or remove that webhook at Composio.`,
  );
}
