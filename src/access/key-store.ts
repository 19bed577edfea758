import type { Queryable, Tx } from "../platform/db/index.ts";

export interface KeyRow {
  id: string;
  workspace_id: string;
  member: string;
  name: string;
  /** SHA-256 of the whole key. */
  hash: string;
  preview: string;
  enabled: 0 | 1;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  orphaned_at: number | null;
}

/** What a request's key is good for. `role` is null when its member is not one of the workspace. */
export interface KeyHolder {
  id: string;
  hash: string;
  workspace_id: string;
  member: string;
  enabled: 0 | 1;
  last_used_at: number | null;
  revoked_at: number | null;
  orphaned_at: number | null;
  role: string | null;
}

/** Keys with these hashes and the present roles of their members. */
export async function findHolders(
  q: Queryable,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, KeyHolder>> {
  const rows: KeyHolder[] = await q("api_keys as k")
    .leftJoin("members as m", (on) => on.on("m.workspace_id", "k.workspace_id").andOn("m.login", "k.member"))
    .whereIn("k.hash", paddedToPowerOfTwo(hashes))
    .select(
      "k.id",
      "k.hash",
      "k.workspace_id",
      "k.member",
      "k.enabled",
      "k.last_used_at",
      "k.revoked_at",
      "k.orphaned_at",
      "m.role",
    );
  return new Map(rows.map((row) => [row.hash, row]));
}

/** A handful of statements instead of one for each length of the list: prepared statements are kept by their text. */
function paddedToPowerOfTwo(hashes: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, hashes.length)));
  return Array.from({ length }, (_, index) => hashes[Math.min(index, hashes.length - 1)] ?? "");
}

export interface KeyFilter {
  member?: string | undefined;
  /** Only keys made before the one with this id. */
  before?: string | undefined;
  limit: number;
}

/** Keys of a workspace, newest first. */
export async function listKeys(q: Queryable, workspaceId: string, filter: KeyFilter): Promise<KeyRow[]> {
  const query = q("api_keys").where({ workspace_id: workspaceId }).orderBy("id", "desc").limit(filter.limit);
  if (filter.member !== undefined) query.where({ member: filter.member });
  if (filter.before !== undefined) query.where("id", "<", filter.before);
  return query;
}

/** How many keys of a member have not ended for good. */
export async function countLiveKeys(q: Queryable, workspaceId: string, member: string): Promise<number> {
  const live = { workspace_id: workspaceId, member, revoked_at: null, orphaned_at: null };
  const row = await q("api_keys").where(live).count({ total: "*" }).first();
  return Number(row?.total ?? 0);
}

/** Locks a key until the transaction ends. */
export async function lockKey(tx: Tx, workspaceId: string, id: string): Promise<KeyRow | undefined> {
  return tx("api_keys").where({ workspace_id: workspaceId, id }).forUpdate().first();
}

export async function insertKey(tx: Tx, row: KeyRow): Promise<void> {
  await tx("api_keys").insert(row);
}

export async function setKeyEnabled(tx: Tx, id: string, enabled: boolean): Promise<void> {
  await tx("api_keys")
    .where({ id })
    .update({ enabled: enabled ? 1 : 0 });
}

export async function setKeyRevoked(tx: Tx, id: string, now: number): Promise<void> {
  await tx("api_keys").where({ id }).update({ revoked_at: now });
}

/** Ends all keys of a login for good. */
export async function orphanKeys(tx: Tx, workspaceId: string, member: string, now: number): Promise<void> {
  await tx("api_keys")
    .where({ workspace_id: workspaceId, member, orphaned_at: null })
    .update({ orphaned_at: now });
}

export async function setLastUsed(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await tx("api_keys").whereIn("id", ids).update({ last_used_at: now });
}
