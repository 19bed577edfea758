import { z } from "zod";
import { fromJson, type Queryable, type Tx } from "../platform/db/index.ts";
import type { PlatformName } from "./platforms/index.ts";
import type { ChatAppState } from "./schema.ts";

/** A row of `chat_apps`. */
export interface ChatAppRow {
  id: string;
  workspace_id: string;
  name: string;
  platform: PlatformName;
  /** JSON of texts, like the next two. */
  labels: string;
  agent_labels: string;
  email_domains: string;
  default_agent: string | null;
  owner: string;
  enabled: number;
  state: ChatAppState;
  state_reason: string | null;
  /** Sealed, see sealing.ts. */
  credentials: string | null;
  tokens: string | null;
  /** Null: until they are revoked. */
  token_expires_at: number | null;
  token_revision: number;
  renewing_until: number | null;
  team_id: string | null;
  team_name: string | null;
  bot_user_id: string | null;
  installed_at: number | null;
  created_at: number;
  updated_at: number;
}

/** A row of `chat_installs`: an installation under way. */
export interface InstallRow {
  id: string;
  chat_app_id: string;
  requested_by: string;
  link_hash: string;
  link_expires_at: number;
  /** Null until the link is used. */
  state_hash: string | null;
  browser_hash: string | null;
  state_expires_at: number | null;
  /** When the platform led back to us, whatever came of it. */
  finished_at: number | null;
  created_at: number;
}

const Texts = z.array(z.string());
export const textsOf = (json: string): string[] => fromJson(Texts, json);

/** Columns of an app that is not installed. */
export const notInstalled = {
  state: "configuring",
  tokens: null,
  token_expires_at: null,
  renewing_until: null,
  team_id: null,
  team_name: null,
  bot_user_id: null,
  installed_at: null,
} as const satisfies Partial<ChatAppRow>;

export async function insertChatApp(tx: Tx, row: ChatAppRow): Promise<void> {
  await tx("chat_apps").insert(row);
}

/** Apps of any workspace by their ids. */
export async function findCalled(q: Queryable, ids: readonly string[]): Promise<Map<string, ChatAppRow>> {
  const rows: ChatAppRow[] = await q("chat_apps").whereIn("id", ids);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function findChatApp(
  q: Queryable,
  workspaceId: string,
  id: string,
): Promise<ChatAppRow | undefined> {
  return q("chat_apps").where({ id, workspace_id: workspaceId }).first();
}

/** The app, locked until the transaction ends. */
export async function lockChatApp(tx: Tx, id: string): Promise<ChatAppRow | undefined> {
  return tx("chat_apps").where({ id }).forUpdate().first();
}

/** Newest first, one more than the limit when there are more; `before` is an id. */
export async function listChatApps(
  q: Queryable,
  workspaceId: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<ChatAppRow[]> {
  const query = q("chat_apps")
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(limit + 1);
  return before === undefined ? query : query.where("id", "<", before);
}

/** All apps of a member, oldest first. */
export async function chatAppsOf(q: Queryable, workspaceId: string, owner: string): Promise<ChatAppRow[]> {
  return q("chat_apps").where({ workspace_id: workspaceId, owner }).orderBy("id");
}

/** The same, locked until the transaction ends. */
export async function lockChatAppsOf(tx: Tx, workspaceId: string, owner: string): Promise<ChatAppRow[]> {
  return tx("chat_apps").where({ workspace_id: workspaceId, owner }).orderBy("id").forUpdate();
}

export async function updateChatApps(
  tx: Tx,
  ids: readonly string[],
  change: Partial<ChatAppRow>,
): Promise<void> {
  await tx("chat_apps").whereIn("id", ids).update(change);
}

/** Changes an app if its tokens are still those. False: they are not. */
export async function updateAsOf(
  tx: Tx,
  { id, token_revision }: Pick<ChatAppRow, "id" | "token_revision">,
  change: Partial<ChatAppRow>,
): Promise<boolean> {
  return (await tx("chat_apps").where({ id, token_revision }).update(change)) === 1;
}

/** Gives this process the right to renew the app's tokens until then. False: another one has it, or they are renewed. */
export async function claimRenewal(
  tx: Tx,
  { id, token_revision }: Pick<ChatAppRow, "id" | "token_revision">,
  { now, until }: { now: number; until: number },
): Promise<boolean> {
  const changed = await tx("chat_apps")
    .where({ id, token_revision })
    .where((free) => free.whereNull("renewing_until").orWhere("renewing_until", "<", now))
    .update({ renewing_until: until });
  return changed === 1;
}

export async function deleteChatApp(tx: Tx, id: string): Promise<void> {
  await tx("chat_installs").where({ chat_app_id: id }).delete();
  await tx("chat_apps").where({ id }).delete();
}

export async function insertInstall(tx: Tx, row: InstallRow): Promise<void> {
  await tx("chat_installs").insert(row);
}

/** The installation of a link that was not used yet and is still good. */
export async function findLinked(
  q: Queryable,
  linkHash: string,
  now: number,
): Promise<InstallRow | undefined> {
  return q("chat_installs")
    .where({ link_hash: linkHash, state_hash: null })
    .where("link_expires_at", ">", now)
    .first();
}

/** Uses the link up. False: somebody has used it meanwhile. */
export async function beginInstall(
  tx: Tx,
  id: string,
  begun: { state_hash: string; browser_hash: string; state_expires_at: number },
): Promise<boolean> {
  return (await tx("chat_installs").where({ id, state_hash: null }).update(begun)) === 1;
}

/** Uses the state up, if it is good and came back in the browser it was given to. Undefined: it is not. */
export async function takeInstall(
  tx: Tx,
  { stateHash, browserHash, now }: { stateHash: string; browserHash: string; now: number },
): Promise<InstallRow | undefined> {
  const good = { state_hash: stateHash, browser_hash: browserHash, finished_at: null };
  const row: InstallRow | undefined = await tx("chat_installs")
    .where(good)
    .where("state_expires_at", ">", now)
    .first();
  if (!row) return undefined;
  const taken = await tx("chat_installs")
    .where({ id: row.id, finished_at: null })
    .update({ finished_at: now });
  return taken === 1 ? row : undefined;
}

const keepInstallsMs = 24 * 60 * 60 * 1000;

/** Removes installations that were begun more than a day ago. */
export async function forgetOldInstalls(tx: Tx, now: number): Promise<void> {
  await tx("chat_installs")
    .where("created_at", "<", now - keepInstallsMs)
    .delete();
}
