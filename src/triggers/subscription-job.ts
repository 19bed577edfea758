import { z } from "zod";
import { type IntegrationClient, IntegrationFailure } from "../integrations/index.ts";
import type { Clock } from "../platform/clock.ts";
import { isUniqueViolation, type Tx } from "../platform/db/index.ts";
import { type Job, type JobKind, type JobQueue, RetryLater } from "../platform/jobs/index.ts";
import { ensureWebhook, type ProviderDeps, type ProviderOf, type WorkspaceProvider } from "./provider.ts";
import {
  configOf,
  deleteRow,
  findFamily,
  isBeingRetired,
  lockFamily,
  sameProviderId,
  type TriggerRow,
  updateAsOf,
  updateTrigger,
} from "./store.ts";

export interface SubscriptionDeps extends ProviderDeps {
  clock: Clock;
  providerOf: ProviderOf;
}

const Payload = z.object({ triggerId: z.string() });
type SyncJob = Job<z.infer<typeof Payload>>;

/** Has the provider told what is wanted of a trigger, once the caller's transaction is committed. */
export type RequestSync = (tx: Tx, triggerId: string) => Promise<void>;

const kind = "trigger.subscription";

/** One job a trigger: what is done at the provider for it is done one after the other. */
export const createRequestSync =
  (queue: JobQueue): RequestSync =>
  (tx, triggerId) =>
    queue.enqueue(tx, { kind, payload: { triggerId }, uniqueKey: `${kind}:${triggerId}` });

/** It goes on until the provider has what is wanted: giving up would leave a subscription that nobody knows of. */
const maxAttempts = 1_000_000;

/** Changes that come while the provider is being told, before it is another try. */
const mostRounds = 5;
const retiringMs = 500;

/** A workspace that has given its provider up may never have a key again. */
const withoutKeyMs = 600_000;

type Change = Partial<TriggerRow>;

/**
 * Brings the provider to what is wanted of a trigger: first subscriptions that are retired are taken back, then the
 * trigger's own is made, enabled or disabled. Every step can be done again, and what is stored before a step tells the
 * next try what the step may have left behind, so that no process that dies leaves a subscription without a row.
 */
export function subscriptionJob(deps: SubscriptionDeps): JobKind<typeof Payload> {
  return {
    kind,
    payload: Payload,
    concurrency: 4,
    maxAttempts,
    backoff: { base: 2_000, cap: 60_000 },
    handle: (job) => sync(deps, job),
  };
}

async function sync(deps: SubscriptionDeps, job: SyncJob): Promise<void> {
  for (let round = 0; round < mostRounds; round++) {
    const family = await findFamily(deps.db.read, job.payload.triggerId);
    const live = family.find((row) => row.retired_at === null);
    try {
      for (const row of family) if (row.retired_at !== null) await takeBack(deps, job, row);
      if (await settle(deps, job, live, live && (await bring(deps, job, live)))) return;
    } catch (error) {
      if (!(error instanceof IntegrationFailure)) throw error;
      if (live) await noteTrouble(deps, job, live, error.message);
      const unusable = !live && error.kind === "unauthorised";
      const waitMs = unusable ? withoutKeyMs : (error.retryAt ?? 0) - deps.clock();
      throw new RetryLater(error.message, Math.max(0, waitMs));
    }
  }
  throw new RetryLater("The trigger was changed again and again meanwhile.", retiringMs);
}

/** What the row is to say once the provider has what is wanted. Undefined: something else is wanted by now. */
async function bring(deps: SubscriptionDeps, job: SyncJob, row: TriggerRow): Promise<Change | undefined> {
  const session = await deps.providerOf(row.workspace_id);
  if (row.enabled === 0) return disable(session, job, row);
  try {
    return await subscribe(deps, session, job, row);
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || !isFinal(error)) throw error;
    return { state: "failed", error: error.message };
  }
}

async function subscribe(
  deps: SubscriptionDeps,
  session: WorkspaceProvider,
  job: SyncJob,
  row: TriggerRow,
): Promise<Change | undefined> {
  if (await isBeingRetired(deps.db.read, row))
    throw new RetryLater("An equal subscription of a deleted trigger is still being taken back.", retiringMs);
  const client = session.client();
  await ensureWebhook(deps, row.workspace_id, session, job.signal);
  const isWanted = await deps.db.transaction(async (tx) => {
    const noted = await updateAsOf(tx, row, { asked: 1 });
    await job.hold(tx);
    return noted;
  });
  if (!isWanted) return undefined;
  const id = await client.subscribe(wantedOf(row), job.signal);
  if (row.provider_id !== null && row.provider_id !== id)
    await client.deleteTrigger(row.provider_id, job.signal);
  const [instance] = (await client.triggers({ ids: [id] }, job.signal)).filter((each) => each.id === id);
  return {
    ...{ provider_id: id, provider_uuid: instance?.uuid ?? null, asked: 0 },
    ...{ state: "active", error: null },
  };
}

async function disable(session: WorkspaceProvider, job: SyncJob, row: TriggerRow): Promise<Change> {
  const id = await providerIdOf(session, job, row);
  const disabled = { state: "disabled", error: null, asked: 0 } as const;
  if (id === undefined) return disabled;
  try {
    await session.client().setTriggerEnabled(id, false, job.signal);
    return { ...disabled, provider_id: id };
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || error.kind !== "not_found") throw error;
    return { ...disabled, provider_id: null, provider_uuid: null };
  }
}

async function takeBack(deps: SubscriptionDeps, job: SyncJob, row: TriggerRow): Promise<void> {
  const session = await deps.providerOf(row.workspace_id);
  const id = await providerIdOf(session, job, row);
  if (id !== undefined) await session.client().deleteTrigger(id, job.signal);
  await deps.db.transaction(async (tx) => {
    await deleteRow(tx, row.id);
    await job.hold(tx);
  });
}

/**
 * The provider's id of the row's subscription. Where a process died before it could be stored, the provider is asked
 * for the same subscription again: that gives the id of the one there is. Undefined when there can be none.
 */
async function providerIdOf(
  session: WorkspaceProvider,
  { signal }: SyncJob,
  row: TriggerRow,
): Promise<string | undefined> {
  if (row.provider_id !== null) return row.provider_id;
  if (row.asked === 0) return undefined;
  try {
    return await session.client().subscribe(wantedOf(row), signal);
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || !isFinal(error)) throw error;
    return undefined;
  }
}

const wantedOf = (row: TriggerRow): Parameters<IntegrationClient["subscribe"]>[0] => ({
  slug: row.slug,
  accountId: row.connection,
  config: configOf(row),
});

/** Trying again would not help before somebody changes something. A refused API key may be replaced any time. */
const isFinal = ({ kind }: IntegrationFailure) => kind === "refused" || kind === "not_found";

/** Stores what was reached and ends the job. False: something else is wanted by now. */
async function settle(
  deps: SubscriptionDeps,
  job: SyncJob,
  seen: TriggerRow | undefined,
  change: Change | undefined,
): Promise<boolean> {
  if (seen && !change) return false;
  try {
    return await settleAs(deps, job, seen, change);
  } catch (error) {
    if (!isUniqueViolation(error, sameProviderId)) throw error;
    const what = "The provider gives this trigger the subscription of another one; change its config.";
    return settleAs(deps, job, seen, { state: "failed", error: what, asked: 0 });
  }
}

function settleAs(
  { db }: SubscriptionDeps,
  job: SyncJob,
  seen: TriggerRow | undefined,
  change: Change | undefined,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const family = await lockFamily(tx, job.payload.triggerId);
    const live = family.find((row) => row.retired_at === null);
    if (live?.revision !== seen?.revision || family.length > (live ? 1 : 0)) return false;
    if (live && change) await updateTrigger(tx, live.id, change);
    await job.complete(tx);
    return true;
  });
}

function noteTrouble({ db }: SubscriptionDeps, job: SyncJob, row: TriggerRow, error: string): Promise<void> {
  return db.transaction(async (tx) => {
    await updateAsOf(tx, row, { state: "pending", error });
    await job.hold(tx);
  });
}
