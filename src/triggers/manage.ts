import { setTimeout as sleep } from "node:timers/promises";
import { holdOwner, type Members, requireOwn } from "../access/index.ts";
import type { Agents } from "../agents/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import { isUniqueViolation, type Queryable, type Tx, toJson } from "../platform/db/index.ts";
import { conflict, notFound, unprocessable } from "../platform/errors.ts";
import { type Actor, toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import { type Checked, type PreflightDeps, preflight } from "./preflight.ts";
import { presentTrigger } from "./present.ts";
import type { ChangeTrigger, CreateTrigger, Trigger } from "./schema.ts";
import {
  configOf,
  findByKey,
  findTrigger,
  insertTrigger,
  listTriggers,
  lockTrigger,
  sameSubscription,
  type TriggerRow,
  updateTrigger,
} from "./store.ts";
import type { RequestSync } from "./subscription-job.ts";
import { subscriptionKey } from "./subscription-key.ts";

export interface ManageDeps extends PreflightDeps {
  ids: Ids;
  agents: Pick<Agents, "get" | "requireTools">;
  members: Pick<Members, "hold">;
  dispatches: Pick<Dispatches, "withdrawn">;
  requestSync: RequestSync;
  /** How long a change waits for the provider to be told, milliseconds. */
  waitMs?: number;
}

export type Management = ReturnType<typeof createManagement>;

const pollMs = 50;

/** What a preflight found out, if one was needed. */
type Ready = Checked | undefined;

/**
 * Triggers as their owners and workspace admins change them. What is wanted is stored together with the job that
 * tells the provider (subscription-job.ts).
 */
export function createManagement(deps: ManageDeps) {
  const { db, ids, clock, agents, members, dispatches, requestSync, waitMs = 5_000 } = deps;

  /** Throws 404 for an unknown agent, else as `preflight` does. */
  async function checkNew(actor: Actor, agent: string, wanted: CreateTrigger, signal: AbortSignal) {
    await agents.requireTools(actor, agent, wanted.tools);
    return preflight(deps, actor, wanted, signal);
  }

  /** Throws 409 when there is such a trigger already, 422 for an owner who cannot start runs. */
  async function create(
    tx: Tx,
    actor: Actor,
    agent: string,
    { connection, slug, config, enabled, tools }: CreateTrigger,
    { toolkit, owner }: Checked,
  ): Promise<Trigger> {
    await holdOwner(members, tx, actor.workspaceId, owner);
    const id = ids("trg");
    const { workspaceId } = actor;
    const key = subscriptionKey({ workspaceId, connection, slug, config });
    const now = clock();
    const row: TriggerRow = {
      ...{ id, root_id: id, workspace_id: workspaceId, agent, owner, connection, toolkit, slug },
      config: toJson(config),
      tools: toolsColumn(tools),
      enabled: enabled ? 1 : 0,
      disabled_reason: null,
      ...{ subscription_key: key, live_key: key },
      state: enabled ? "pending" : "disabled",
      ...{ error: null, provider_id: null, provider_uuid: null, asked: 0, revision: 1, failing: 0 },
      ...{ last_event_at: null, retired_at: null, created_at: now, updated_at: now },
    };
    await requireFree(tx, row);
    await insertTrigger(tx, row).catch(answerTaken);
    if (enabled) await requestSync(tx, id);
    return presentTrigger(row);
  }

  /** Asks the provider when that is needed for the change. Throws as `change` and `preflight` do. */
  async function checkChange(
    actor: Actor,
    id: string,
    wanted: ChangeTrigger,
    signal: AbortSignal,
  ): Promise<Ready> {
    const row = ownOf(await findTrigger(db.read, actor.workspaceId, id), actor);
    if (wanted.tools?.length) await agents.requireTools(actor, row.agent, wanted.tools);
    const { enabled, config = configOf(row), connection = row.connection } = wanted;
    if (!enabled && wanted.config === undefined && wanted.connection === undefined) return undefined;
    const checked = await preflight(deps, actor, { connection, slug: row.slug, config }, signal);
    if (wanted.connection === undefined && checked.owner !== row.owner)
      throw unprocessable(
        `The trigger belongs to ${row.owner} and its connection to ${checked.owner}; choose another connection.`,
      );
    return checked;
  }

  /** Throws 404, and 403 to those who neither own it nor are admins; else as `create` does. */
  async function change(
    tx: Tx,
    actor: Actor,
    id: string,
    { connection, config, enabled, tools }: ChangeTrigger,
    ready: Ready,
  ): Promise<Trigger> {
    const row = ownOf(await lockTrigger(tx, actor.workspaceId, id), actor);
    const owner = connection === undefined ? row.owner : (ready?.owner ?? row.owner);
    if (ready) await holdOwner(members, tx, actor.workspaceId, owner);
    const now = clock();
    const changed: TriggerRow = {
      ...row,
      owner,
      connection: connection ?? row.connection,
      config: config === undefined ? row.config : toJson(config),
      tools: tools === undefined ? row.tools : toolsColumn(tools),
      enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
      disabled_reason: enabled === undefined ? row.disabled_reason : null,
      updated_at: now,
    };
    if (connection === undefined && config === undefined && enabled === undefined) {
      await updateTrigger(tx, id, changed);
      return presentTrigger(changed);
    }
    const synced = await changeSubscription(tx, row, changed);
    await requestSync(tx, id);
    return presentTrigger(synced);
  }

  /** Of another subscription the one before is retired: the row that stands for it goes when the provider's has gone. */
  async function changeSubscription(tx: Tx, row: TriggerRow, wanted: TriggerRow): Promise<TriggerRow> {
    const { workspace_id: workspaceId, connection, slug } = wanted;
    const key = subscriptionKey({ workspaceId, connection, slug, config: configOf(wanted) });
    const renewed: TriggerRow = {
      ...wanted,
      ...{ state: "pending", error: null, revision: row.revision + 1 },
    };
    if (key === row.subscription_key) {
      await updateTrigger(tx, row.id, renewed);
      return renewed;
    }
    const moved: TriggerRow = {
      ...renewed,
      ...{ subscription_key: key, live_key: key, provider_id: null, provider_uuid: null, asked: 0 },
    };
    await requireFree(tx, moved);
    await updateTrigger(tx, row.id, moved).catch(answerTaken);
    if (row.provider_id !== null || row.asked === 1)
      await insertTrigger(tx, { ...row, id: ids("trg"), live_key: null, retired_at: clock() });
    return moved;
  }

  async function remove(tx: Tx, actor: Actor, id: string): Promise<Trigger> {
    const row = ownOf(await lockTrigger(tx, actor.workspaceId, id), actor);
    const retired = { live_key: null, retired_at: clock(), revision: row.revision + 1 };
    await updateTrigger(tx, id, retired);
    await requestSync(tx, id);
    await dispatches.withdrawn(tx, { workspaceId: actor.workspaceId, kind: "trigger", ref: id });
    return presentTrigger(row);
  }

  /** The trigger once the provider was told, or has failed to take it; else as it is after a few seconds. */
  async function settled({ workspaceId }: Actor, trigger: Trigger, signal: AbortSignal): Promise<Trigger> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      const row = await findTrigger(db.read, workspaceId, trigger.id);
      if (!row) return trigger;
      const over = performance.now() > deadline || signal.aborted;
      if (row.state !== "pending" || row.error !== null || over) return presentTrigger(row);
      await sleep(pollMs);
    }
  }

  return {
    checkNew,
    create,
    checkChange,
    change,
    remove,
    settled,
    async get(actor: Actor, id: string): Promise<Trigger> {
      const row = await findTrigger(db.read, actor.workspaceId, id);
      if (!row) throw unknownTrigger();
      return presentTrigger(row);
    },
    /** Newest first, also of an agent whose file is gone. Throws 404 for one that never was. */
    async list(actor: Actor, agent: string, page: { limit: number; before?: string | undefined }) {
      const rows = await listTriggers(db.read, actor.workspaceId, agent, page);
      if (rows.length === 0) await agents.get(actor, agent);
      const { page: shown, nextBefore } = toPage(rows, page.limit);
      return { triggers: shown.map(presentTrigger), nextBefore };
    },
  };
}

const toolsColumn = (tools: readonly string[] | null) => (tools === null ? null : toJson(tools));

const unknownTrigger = () =>
  notFound("No trigger has this id; GET /agents/{name}/triggers lists those of an agent.");

function ownOf(row: TriggerRow | undefined, actor: Actor): TriggerRow {
  if (!row) throw unknownTrigger();
  requireOwn(actor, row.owner, "trigger");
  return row;
}

/** The provider keeps one subscription for a connection, slug and config, so that two triggers cannot share it. */
async function requireFree(q: Queryable, { id, subscription_key }: TriggerRow): Promise<void> {
  const taken = await findByKey(q, subscription_key);
  if (taken && taken.id !== id)
    throw conflict(
      `The agent ${taken.agent} has a trigger with this connection, slug and config already; change that one.`,
      { trigger: taken.id },
    );
}

/** A twin that was committed after it was looked for. */
function answerTaken(error: unknown): never {
  if (!isUniqueViolation(error, sameSubscription)) throw error;
  throw conflict("A trigger with this connection, slug and config was made just now; look at that one.");
}
