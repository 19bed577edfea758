import { holdOwner, type Members, requireMayName, requireOwn } from "../access/index.ts";
import type { Agents } from "../agents/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, type Tx, toJson } from "../platform/db/index.ts";
import { notFound } from "../platform/errors.ts";
import { type Actor, toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import { mintToken, type Sealer, sha256 } from "../platform/secrets.ts";
import { presentWebhook } from "./present.ts";
import type { ChangeWebhook, CreateWebhook, RotateWebhook, Webhook, WebhookWithSecrets } from "./schema.ts";
import { sealingContext } from "./sealing.ts";
import { mintSigningSecret } from "./signature.ts";
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  updateWebhooks,
  type WebhookRow,
} from "./store.ts";

export interface ManageDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  sealer: Sealer;
  agents: Pick<Agents, "get" | "requireTools">;
  members: Pick<Members, "hold">;
  dispatches: Pick<Dispatches, "withdrawn">;
  /** Public address of the service; '' when it is not known. */
  baseUrl: string;
}

export type Management = ReturnType<typeof createManagement>;

const tokenPrefix = "rcw";

/** The webhooks as their owners and workspace admins change them. Secrets leave it only when they are made. */
export function createManagement(deps: ManageDeps) {
  const { db, ids, clock, sealer, agents, members, dispatches, baseUrl } = deps;
  const present = (row: WebhookRow) => presentWebhook(row, baseUrl);
  const seal = (id: string, secret: string) => sealer.seal(secret, sealingContext(id));

  /** Throws 404 for an unknown agent, 403 for an owner that the actor may not choose, 422 for one that cannot start runs. */
  async function create(
    tx: Tx,
    actor: Actor,
    agent: string,
    { name, owner = actor.login, tools, signingSecret }: CreateWebhook,
  ): Promise<WebhookWithSecrets> {
    await agents.requireTools(actor, agent, tools);
    await requireOwner(tx, actor, owner);
    const id = ids("whk");
    const token = mintToken(tokenPrefix);
    const secret = signingSecret === true ? mintSigningSecret() : signingSecret;
    const now = clock();
    const row: WebhookRow = {
      id,
      workspace_id: actor.workspaceId,
      agent,
      name,
      owner,
      enabled: 1,
      token_hash: sha256(token),
      signing_secret: secret === undefined ? null : seal(id, secret),
      tools: toolsColumn(tools),
      failing: 0,
      last_called_at: null,
      created_at: now,
      updated_at: now,
    };
    await insertWebhook(tx, row);
    return { webhook: present(row), token, ...(signingSecret === true ? { signingSecret: secret } : {}) };
  }

  /** Throws 404, and 403 to those who neither own it nor are admins; else as `create` does. */
  async function change(
    tx: Tx,
    actor: Actor,
    id: string,
    { name, owner, tools, enabled, signingSecret }: ChangeWebhook,
  ): Promise<Webhook> {
    const row = await lockOwn(tx, actor, id);
    if (tools?.length) await agents.requireTools(actor, row.agent, tools);
    if (owner !== undefined && owner !== row.owner) await requireOwner(tx, actor, owner);
    const columns: Partial<WebhookRow> = {
      ...(name === undefined ? {} : { name }),
      ...(owner === undefined ? {} : { owner }),
      ...(tools === undefined ? {} : { tools: toolsColumn(tools) }),
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
      ...(signingSecret === undefined
        ? {}
        : { signing_secret: signingSecret === null ? null : seal(id, signingSecret) }),
      updated_at: clock(),
    };
    await updateWebhooks(tx, [id], columns);
    return present({ ...row, ...columns });
  }

  /** Makes secrets anew; those before stop with the commit. Throws as `change` does. */
  async function rotate(
    tx: Tx,
    actor: Actor,
    id: string,
    { secret: wanted }: RotateWebhook,
  ): Promise<WebhookWithSecrets> {
    const row = await lockOwn(tx, actor, id);
    const token = wanted === "signing" ? undefined : mintToken(tokenPrefix);
    const signingSecret = wanted === "token" ? undefined : mintSigningSecret();
    const columns: Partial<WebhookRow> = {
      ...(token === undefined ? {} : { token_hash: sha256(token) }),
      ...(signingSecret === undefined ? {} : { signing_secret: seal(id, signingSecret) }),
      updated_at: clock(),
    };
    await updateWebhooks(tx, [id], columns);
    return {
      webhook: present({ ...row, ...columns }),
      ...(token === undefined ? {} : { token }),
      ...(signingSecret === undefined ? {} : { signingSecret }),
    };
  }

  async function remove(tx: Tx, actor: Actor, id: string): Promise<Webhook> {
    const row = await lockOwn(tx, actor, id);
    await deleteWebhook(tx, id);
    await dispatches.withdrawn(tx, { workspaceId: actor.workspaceId, kind: "webhook", ref: id });
    return present(row);
  }

  async function lockOwn(tx: Tx, actor: Actor, id: string): Promise<WebhookRow> {
    const row = await lockWebhook(tx, actor.workspaceId, id);
    if (!row) throw unknownWebhook();
    requireOwn(actor, row.owner, "webhook");
    return row;
  }

  async function requireOwner(tx: Tx, actor: Actor, owner: string): Promise<void> {
    requireMayName(actor, owner);
    await holdOwner(members, tx, actor.workspaceId, owner);
  }

  return {
    create,
    change,
    rotate,
    remove,
    async get(actor: Actor, id: string): Promise<Webhook> {
      const row = await findWebhook(db.read, actor.workspaceId, id);
      if (!row) throw unknownWebhook();
      return present(row);
    },
    /** Newest first, also of an agent whose file is gone. Throws 404 for one that never was. */
    async list(actor: Actor, agent: string, page: { limit: number; before?: string | undefined }) {
      const rows = await listWebhooks(db.read, actor.workspaceId, agent, page);
      if (rows.length === 0) await agents.get(actor, agent);
      const { page: shown, nextBefore } = toPage(rows, page.limit);
      return { webhooks: shown.map(present), nextBefore };
    },
  };
}

const toolsColumn = (tools: readonly string[] | null) => (tools === null ? null : toJson(tools));

const unknownWebhook = () =>
  notFound("No webhook has this id; GET /agents/{name}/webhooks lists those of an agent.");
