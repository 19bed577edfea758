import { z } from "zod";
import { fromJson, type Queryable, type Tx } from "../platform/db/index.ts";
import type { SubscriptionState } from "./schema.ts";

/**
 * A row of `triggers`. A retired row is no trigger any more: it stands for a subscription that the provider may
 * still have, until that is gone.
 */
export interface TriggerRow {
  id: string;
  /** The trigger that the row is, or whose subscription it was. */
  root_id: string;
  workspace_id: string;
  agent: string;
  owner: string;
  connection: string;
  toolkit: string;
  slug: string;
  /** JSON object. */
  config: string;
  /** JSON of slugs; null for all of the agent's. */
  tools: string | null;
  enabled: number;
  disabled_reason: string | null;
  subscription_key: string;
  live_key: string | null;
  state: SubscriptionState;
  error: string | null;
  provider_id: string | null;
  provider_uuid: string | null;
  /** 1 while the provider may have a subscription whose id is not known. */
  asked: number;
  revision: number;
  failing: number;
  last_event_at: number | null;
  retired_at: number | null;
  created_at: number;
  updated_at: number;
}

const Slugs = z.array(z.string());
const Config = z.record(z.string(), z.unknown());

/** The tools that its runs are held to; undefined for all of the agent's. */
export const toolsOf = ({ tools }: Pick<TriggerRow, "tools">): string[] | undefined =>
  tools === null ? undefined : fromJson(Slugs, tools);

export const configOf = ({ config }: Pick<TriggerRow, "config">): Record<string, unknown> =>
  fromJson(Config, config);

/** Name of the key that two triggers with one subscription violate. */
export const sameSubscription = "live_key";

/** Name of the key that is violated by a provider that gives two triggers one subscription. */
export const sameProviderId = "provider_id";

/** Throws a unique violation when a trigger has the same subscription already. */
export async function insertTrigger(tx: Tx, row: TriggerRow): Promise<void> {
  await tx("triggers").insert(row);
}

export async function findTrigger(
  q: Queryable,
  workspaceId: string,
  id: string,
): Promise<TriggerRow | undefined> {
  return q("triggers").where({ id, workspace_id: workspaceId, retired_at: null }).first();
}

/** The trigger, locked until the transaction ends. */
export async function lockTrigger(tx: Tx, workspaceId: string, id: string): Promise<TriggerRow | undefined> {
  return tx("triggers").where({ id, workspace_id: workspaceId, retired_at: null }).forUpdate().first();
}

/** Newest first, one more than the limit when there are more; `before` is an id. */
export async function listTriggers(
  q: Queryable,
  workspaceId: string,
  agent: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<TriggerRow[]> {
  const query = q("triggers")
    .where({ workspace_id: workspaceId, agent, retired_at: null })
    .orderBy("id", "desc")
    .limit(limit + 1);
  return before === undefined ? query : query.where("id", "<", before);
}

/** The trigger that has this subscription. */
export async function findByKey(q: Queryable, key: string): Promise<TriggerRow | undefined> {
  return q("triggers").where({ live_key: key }).first();
}

/** The trigger whose subscription the provider calls by one of these; null fits nothing. */
export async function findSubscribed(
  q: Queryable,
  workspaceId: string,
  { id, uuid }: { id: string | null; uuid: string | null },
): Promise<TriggerRow | undefined> {
  const found = (column: "provider_id" | "provider_uuid", value: string) =>
    q("triggers")
      .where({ [column]: value, workspace_id: workspaceId, retired_at: null })
      .first();
  return (
    (id === null ? undefined : await found("provider_id", id)) ??
    (uuid === null ? undefined : await found("provider_uuid", uuid))
  );
}

/** The triggers of an account, oldest first. */
export async function triggersOfConnection(
  q: Queryable,
  workspaceId: string,
  connection: string,
): Promise<TriggerRow[]> {
  return q("triggers").where({ connection, workspace_id: workspaceId, retired_at: null }).orderBy("id");
}

/** All triggers of a member, oldest first. */
export async function triggersOf(q: Queryable, workspaceId: string, owner: string): Promise<TriggerRow[]> {
  return q("triggers").where({ workspace_id: workspaceId, owner, retired_at: null }).orderBy("id");
}

/** The same, locked until the transaction ends. */
export async function lockTriggersOf(tx: Tx, workspaceId: string, owner: string): Promise<TriggerRow[]> {
  return tx("triggers")
    .where({ workspace_id: workspaceId, owner, retired_at: null })
    .orderBy("id")
    .forUpdate();
}

export async function updateTrigger(tx: Tx, id: string, change: Partial<TriggerRow>): Promise<void> {
  await tx("triggers").where({ id }).update(change);
}

/** Changes a trigger if what is wanted of it is still the same. False: it is not. */
export async function updateAsOf(
  tx: Tx,
  { id, revision }: Pick<TriggerRow, "id" | "revision">,
  change: Partial<TriggerRow>,
): Promise<boolean> {
  return (await tx("triggers").where({ id, revision, retired_at: null }).update(change)) === 1;
}

/** A trigger with its retired subscriptions, oldest first. */
export async function findFamily(q: Queryable, rootId: string): Promise<TriggerRow[]> {
  return q("triggers").where({ root_id: rootId }).orderBy("id");
}

/** The same, locked until the transaction ends. */
export async function lockFamily(tx: Tx, rootId: string): Promise<TriggerRow[]> {
  return tx("triggers").where({ root_id: rootId }).orderBy("id").forUpdate();
}

/** Whether a subscription of this key is still to be taken back for another trigger. */
export async function isBeingRetired(
  q: Queryable,
  { subscription_key, root_id }: Pick<TriggerRow, "subscription_key" | "root_id">,
): Promise<boolean> {
  const found = await q("triggers")
    .where({ subscription_key })
    .whereNotNull("retired_at")
    .whereNot({ root_id })
    .first("id");
  return found !== undefined;
}

export async function deleteRow(tx: Tx, id: string): Promise<void> {
  await tx("triggers").where({ id }).delete();
}

export async function setLastEvent(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await tx("triggers").whereIn("id", ids).update({ last_event_at: now });
}

/** Notes whether a failure of the trigger is open. False: it does not exist any more. */
export async function setFailing(tx: Tx, id: string, failing: 0 | 1): Promise<boolean> {
  return (await tx("triggers").where({ id, retired_at: null }).update({ failing })) === 1;
}
