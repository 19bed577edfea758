import { stringify } from "yaml";
import { holdOwner, type Members } from "../access/index.ts";
import { type Clock, toInstant } from "../platform/clock.ts";
import { type Database, type Tx, toJson } from "../platform/db/index.ts";
import { notFound, unprocessable } from "../platform/errors.ts";
import { type Actor, toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { randomBase62, sha256 } from "../platform/secrets.ts";
import type { ChatPlatforms } from "./platforms/index.ts";
import { addressesOf, installPath, presentChatApp } from "./present.ts";
import { requestRevocation } from "./revoke-job.ts";
import type { AppManifest, ChangeChatApp, ChatApp, CreateChatApp, InstallLink } from "./schema.ts";
import { type ChatSecrets, completed } from "./sealing.ts";
import { endOpenTurns } from "./stop-thread.ts";
import {
  type ChatAppRow,
  deleteChatApp,
  findChatApp,
  insertChatApp,
  insertInstall,
  listChatApps,
  lockChatApp,
  notInstalled,
  updateChatApps,
} from "./store.ts";

export interface ManageDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  queue: JobQueue;
  members: Pick<Members, "hold">;
  secrets: ChatSecrets;
  platforms: ChatPlatforms;
  /** Public address of the service; '' when it is not known. */
  baseUrl: string;
}

export type Management = ReturnType<typeof createManagement>;

const linkMs = 15 * 60_000;

/** The chat apps as workspace admins change them. Nothing here calls a platform. */
export function createManagement(deps: ManageDeps) {
  const { db, ids, clock, queue, members, secrets, platforms, baseUrl } = deps;
  const present = (row: ChatAppRow) => presentChatApp(row, secrets, baseUrl);

  /** Throws 422 for an owner who cannot start runs. */
  async function create(
    tx: Tx,
    actor: Actor,
    { owner = actor.login, secrets: given, ...wanted }: CreateChatApp,
  ): Promise<ChatApp> {
    await holdOwner(members, tx, actor.workspaceId, owner);
    const id = ids("cha");
    const now = clock();
    const row: ChatAppRow = {
      ...{ id, workspace_id: actor.workspaceId, name: wanted.name, platform: wanted.platform },
      labels: toJson(wanted.labels),
      agent_labels: toJson(wanted.agentLabels),
      email_domains: toJson(wanted.emailDomains),
      default_agent: wanted.defaultAgent,
      ...{ owner, enabled: 1, ...notInstalled, state_reason: null, token_revision: 0 },
      credentials: given === undefined ? null : secrets.sealCredentials(id, given),
      ...{ created_at: now, updated_at: now },
    };
    await insertChatApp(tx, row);
    return present(row);
  }

  /** Throws 404, and 422 as `create` does. Another client id is another app at the platform: it is not installed yet. */
  async function change(tx: Tx, actor: Actor, id: string, wanted: ChangeChatApp): Promise<ChatApp> {
    const row = await lock(tx, actor, id);
    const { owner } = wanted;
    if (owner !== undefined && owner !== row.owner) await holdOwner(members, tx, actor.workspaceId, owner);
    const columns = { ...columnsOf(wanted), ...credentialColumns(row, wanted), updated_at: clock() };
    if ("state" in columns) await requestRevocation(tx, queue, row);
    await updateChatApps(tx, [id], columns);
    return present({ ...row, ...columns });
  }

  function credentialColumns(row: ChatAppRow, { secrets: given }: ChangeChatApp): Partial<ChatAppRow> {
    if (given === undefined) return {};
    const before = secrets.credentials(row);
    const credentials = secrets.sealCredentials(row.id, { ...before, ...given });
    const other = given.clientId !== undefined && given.clientId !== before.clientId;
    if (!other || row.state === "configuring") return { credentials };
    const state_reason = "It has another client id now.";
    return { credentials, ...notInstalled, state_reason, token_revision: row.token_revision + 1 };
  }

  /** What has not begun ends with it; runs that have go on. */
  async function remove(tx: Tx, actor: Actor, id: string): Promise<ChatApp> {
    const row = await lock(tx, actor, id);
    await endOpenTurns(deps, tx, id, "The chat app was deleted.");
    await requestRevocation(tx, queue, row);
    await deleteChatApp(tx, id);
    return present(row);
  }

  /** Throws 404, and 422 while secrets or the service's own address are missing. */
  async function installLink(tx: Tx, actor: Actor, id: string): Promise<InstallLink> {
    const row = await lock(tx, actor, id);
    requireAddress(baseUrl);
    if (!completed(secrets.credentials(row)))
      throw unprocessable(
        "Set the secrets clientId, clientSecret and signingSecret of the chat app first, by PATCH /chat-apps/{id}.",
      );
    const token = randomBase62(40);
    const now = clock();
    await insertInstall(tx, {
      ...{ id: ids("chi"), chat_app_id: id, requested_by: actor.login },
      ...{ link_hash: sha256(token), link_expires_at: now + linkMs },
      ...{ state_hash: null, browser_hash: null, state_expires_at: null, finished_at: null, created_at: now },
    });
    // In the query, which is not logged.
    return { url: `${baseUrl}${installPath}?token=${token}`, expiresAt: toInstant(now + linkMs) };
  }

  async function lock(tx: Tx, { workspaceId }: Actor, id: string): Promise<ChatAppRow> {
    const row = await lockChatApp(tx, id);
    if (row?.workspace_id !== workspaceId) throw unknownChatApp();
    return row;
  }

  async function find({ workspaceId }: Actor, id: string): Promise<ChatAppRow> {
    const row = await findChatApp(db.read, workspaceId, id);
    if (!row) throw unknownChatApp();
    return row;
  }

  return {
    create,
    change,
    remove,
    installLink,
    get: async (actor: Actor, id: string): Promise<ChatApp> => present(await find(actor, id)),
    /** Newest first. */
    async list({ workspaceId }: Actor, page: { limit: number; before?: string | undefined }) {
      const { page: shown, nextBefore } = toPage(await listChatApps(db.read, workspaceId, page), page.limit);
      return { chatApps: shown.map(present), nextBefore };
    },
    /** Throws 404, and 422 while the service's own address is not known. */
    async manifest(actor: Actor, id: string): Promise<AppManifest> {
      const row = await find(actor, id);
      requireAddress(baseUrl);
      const manifest = platforms[row.platform].manifest(row.name, addressesOf(id, baseUrl));
      return { manifest, yaml: stringify(manifest) };
    },
  };
}

function columnsOf(wanted: ChangeChatApp): Partial<ChatAppRow> {
  const { name, labels, agentLabels, emailDomains, defaultAgent, owner, enabled } = wanted;
  return {
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels: toJson(labels) }),
    ...(agentLabels === undefined ? {} : { agent_labels: toJson(agentLabels) }),
    ...(emailDomains === undefined ? {} : { email_domains: toJson(emailDomains) }),
    ...(defaultAgent === undefined ? {} : { default_agent: defaultAgent }),
    ...(owner === undefined ? {} : { owner }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
  };
}

const unknownChatApp = () => notFound("No chat app has this id; GET /chat-apps lists those there are.");

function requireAddress(baseUrl: string): void {
  if (baseUrl === "")
    throw unprocessable("The service does not know its own address; set ROLLCALL_URL and start it again.");
}
