import { z } from "zod";
import { IntegrationFailure } from "../failure.ts";
import type { IntegrationClient, TriggerInstance, TriggerType } from "../ports.ts";
import { allPages } from "./paging.ts";
import type { ComposioRequest } from "./request.ts";
import { TriggerPage, TriggerTypePage, Upserted, WireTriggerType } from "./wire.ts";

type TriggerCalls = Pick<
  IntegrationClient,
  "triggerTypes" | "triggerType" | "subscribe" | "triggers" | "setTriggerEnabled" | "deleteTrigger"
>;

const typePageSize = 50;
const triggerPageSize = 500;

export function composioTriggers(request: ComposioRequest): TriggerCalls {
  const triggers: TriggerCalls["triggers"] = async ({ ids, accountIds }, signal) => {
    const query = {
      trigger_ids: ids,
      connected_account_ids: accountIds,
      show_disabled: true,
      limit: triggerPageSize,
    };
    const items = await allPages((cursor) =>
      request({
        method: "GET",
        path: "/trigger_instances/active",
        query: { ...query, cursor },
        answer: TriggerPage,
        signal,
      }),
    );
    return items.map(toTrigger);
  };

  /** An upsert may answer without a body; the instance is then looked up by what it was made of. */
  async function findId(
    { slug, accountId, config }: Parameters<TriggerCalls["subscribe"]>[0],
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const candidates = (await triggers({ accountIds: [accountId] }, signal)).filter(
      (trigger) => trigger.slug === slug.toUpperCase() && trigger.accountId === accountId,
    );
    const same = candidates.find((trigger) => canonical(trigger.config) === canonical(config));
    const [only] = candidates.length === 1 ? candidates : [];
    const found = same ?? only;
    if (found) return found.id;
    throw new IntegrationFailure("unavailable", "Composio did not say which trigger it has set up.");
  }

  return {
    triggers,
    async triggerTypes(toolkit, signal) {
      const query = { "toolkit_slugs[]": toolkit, limit: typePageSize };
      const items = await allPages((cursor) =>
        request({
          method: "GET",
          path: "/triggers_types",
          query: { ...query, cursor },
          answer: TriggerTypePage,
          signal,
        }),
      );
      return items.map(toTriggerType).filter((type) => toolkit === undefined || type.toolkit === toolkit);
    },
    async triggerType(slug, signal) {
      const path = `/triggers_types/${encodeURIComponent(slug)}`;
      return toTriggerType(await request({ method: "GET", path, answer: WireTriggerType, signal }));
    },
    async subscribe(to, signal) {
      const upserted = await request({
        method: "POST",
        path: `/trigger_instances/${encodeURIComponent(to.slug)}/upsert`,
        body: { connected_account_id: to.accountId, trigger_config: to.config },
        answer: Upserted,
        signal,
      });
      return upserted?.trigger_id ?? findId(to, signal);
    },
    async setTriggerEnabled(id, enabled, signal) {
      const body = { status: enabled ? "enable" : "disable" };
      await request({ method: "PATCH", path: managed(id), body, answer: z.unknown(), signal });
    },
    async deleteTrigger(id, signal) {
      try {
        await request({ method: "DELETE", path: managed(id), answer: z.unknown(), signal });
      } catch (error) {
        if (!(error instanceof IntegrationFailure) || error.kind !== "not_found") throw error;
      }
    },
  };
}

const managed = (id: string) => `/trigger_instances/manage/${encodeURIComponent(id)}`;

function toTriggerType(item: z.infer<typeof WireTriggerType>): TriggerType {
  return {
    slug: item.slug,
    toolkit: item.toolkit.slug,
    name: item.name || item.slug,
    description: item.description ?? "",
    instructions: item.instructions || null,
    delivery: item.type,
    config: item.config ?? {},
    payload: item.payload ?? {},
  };
}

function toTrigger(item: z.infer<typeof TriggerPage>["items"][number]): TriggerInstance {
  return {
    id: item.id,
    uuid: item.uuid ?? null,
    slug: item.trigger_name.toUpperCase(),
    accountId: item.connected_account_id,
    userId: item.user_id ?? null,
    config: item.trigger_config ?? {},
    enabled: !item.disabled_at,
  };
}

/** The same text for the same JSON, whatever the order of its keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
