import { toInstant } from "../platform/clock.ts";
import type { Trigger } from "./schema.ts";
import { configOf, type TriggerRow, toolsOf } from "./store.ts";

export function presentTrigger(row: TriggerRow): Trigger {
  const error = row.error ?? row.disabled_reason;
  return {
    id: row.id,
    agent: row.agent,
    connection: row.connection,
    slug: row.slug,
    config: configOf(row),
    enabled: row.enabled === 1,
    owner: row.owner,
    tools: toolsOf(row) ?? null,
    subscription: { state: row.state, ...(error === null ? {} : { error }) },
    createdAt: toInstant(row.created_at),
    updatedAt: toInstant(row.updated_at),
    ...(row.last_event_at === null ? {} : { lastEventAt: toInstant(row.last_event_at) }),
  };
}
