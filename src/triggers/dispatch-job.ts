import { z } from "zod";
import type { Connections } from "../connections/index.ts";
import { failDelivery, settleDelivery } from "../deliveries/index.ts";
import type { IntegrationEvent } from "../integrations/index.ts";
import { type Job, type JobKind, RetryLater } from "../platform/jobs/index.ts";
import type { LastUse } from "../platform/last-use.ts";
import { envelope } from "./envelope.ts";
import type { Outcome } from "./outcome.ts";
import { settleProviderEvent } from "./provider-events.ts";
import { type StartDeps, startRun } from "./start-run.ts";
import { findSubscribed, type TriggerRow, triggersOfConnection } from "./store.ts";
import { readEvent } from "./stored-event.ts";

export interface DispatchJobDeps extends Omit<StartDeps, "connections"> {
  connections: Pick<Connections, "missing" | "changed">;
  lastEvent: LastUse;
}

export const dispatchJobKind = "trigger.dispatch";

const Payload = z.object({ deliveryId: z.string(), workspaceId: z.string() });

const maxAttempts = 10;

/** How long an event may be ahead of the answer that tells the id of its trigger. */
const aheadMs = 1_000;
const mostAhead = 5;

/**
 * Works an event off. The run, the delivery's end and the job's end are one commit, fenced by the job's claim, so that
 * one event starts one run whatever happens to the processes that try.
 */
export function dispatchJob(deps: DispatchJobDeps): JobKind<typeof Payload> {
  return {
    kind: dispatchJobKind,
    payload: Payload,
    concurrency: 10,
    maxAttempts,
    backoff: { base: 1_000, cap: 60_000 },
    handle: (job) => dispatch(deps, job),
    onDead: (tx, { deliveryId }, error) => failDelivery(tx, deliveryId, error),
  };
}

async function dispatch(deps: DispatchJobDeps, job: Job<z.infer<typeof Payload>>): Promise<void> {
  const { deliveryId, workspaceId } = job.payload;
  const event = await readEvent(deps.db.read, deliveryId);
  if (!event) return;
  const { state, reason, runId, unit } =
    event.kind === "trigger"
      ? await start(deps, workspaceId, event, job.attempt)
      : await settleProviderEvent(deps, workspaceId, event);
  await deps.db.commit({
    ...unit,
    run: async (tx) => {
      await job.complete(tx);
      await settleDelivery(tx, deliveryId, {
        state,
        reason,
        ...(runId === undefined ? {} : { run_id: runId }),
      });
      await unit?.run?.(tx);
    },
  });
}

async function start(
  deps: DispatchJobDeps,
  workspaceId: string,
  event: IntegrationEvent,
  attempt: number,
): Promise<Outcome> {
  const { triggerId: id, triggerUuid: uuid, triggerSlug, accountId, data } = event;
  const trigger = await findSubscribed(deps.db.read, workspaceId, { id, uuid });
  if (!trigger) {
    if (attempt <= mostAhead && (await isAhead(deps, workspaceId, event)))
      throw new RetryLater("The trigger of this event is still being subscribed.", aheadMs);
    return ignored("No trigger of this workspace has the subscription that sent it.");
  }
  if (accountId !== null && accountId !== trigger.connection)
    return ignored(`It comes from another connection than that of the trigger ${trigger.id}.`);
  if (triggerSlug !== null && triggerSlug !== trigger.slug)
    return ignored(`It is another event than that of the trigger ${trigger.id}.`);
  if (trigger.enabled === 0) return ignored(`The trigger ${trigger.id} is disabled.`);
  const started = await startRun(deps, trigger, envelope(trigger.slug, data));
  deps.lastEvent.note(trigger.id, trigger.last_event_at);
  return started;
}

const ignored = (reason: string): Outcome => ({ state: "ignored", reason });

/** Whether the provider may be subscribed already for a trigger whose row does not say so yet. */
async function isAhead(
  { db }: DispatchJobDeps,
  workspaceId: string,
  { accountId, triggerSlug }: IntegrationEvent,
): Promise<boolean> {
  if (accountId === null) return false;
  const candidates: TriggerRow[] = await triggersOfConnection(db.read, workspaceId, accountId);
  return candidates.some(({ asked, slug }) => asked === 1 && (triggerSlug === null || slug === triggerSlug));
}
