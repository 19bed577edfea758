import type { Queryable, Tx } from "../platform/db/index.ts";
import type { Role } from "../platform/http/index.ts";

export interface MemberRow {
  workspace_id: string;
  login: string;
  role: Role;
  created_at: number;
}

/** All members, by login. */
export async function listMembers(q: Queryable, workspaceId: string): Promise<MemberRow[]> {
  return q("members").where({ workspace_id: workspaceId }).orderBy("login");
}

/** Those of these logins that are members. */
export async function findMembers(
  q: Queryable,
  workspaceId: string,
  logins: readonly string[],
): Promise<MemberRow[]> {
  return q("members").where({ workspace_id: workspaceId }).whereIn("login", logins);
}

/** Whether the workspace has any member. */
export async function hasMembers(q: Queryable, workspaceId: string): Promise<boolean> {
  return (await q("members").where({ workspace_id: workspaceId }).first("login")) !== undefined;
}

/** Locks one member until the transaction ends, so that nobody removes it meanwhile. */
export async function lockMember(tx: Tx, workspaceId: string, login: string): Promise<MemberRow | undefined> {
  return tx("members").where({ workspace_id: workspaceId, login }).forUpdate().first();
}

/**
 * Locks these members and all workspace admins until the transaction ends. Always in the order of logins: two
 * transactions that lock them wait for each other instead of running into a deadlock.
 */
export async function lockMembersAndAdmins(
  tx: Tx,
  workspaceId: string,
  logins: readonly string[],
): Promise<MemberRow[]> {
  return tx("members")
    .where({ workspace_id: workspaceId })
    .where((either) => either.whereIn("login", logins).orWhere({ role: "workspace_admin" satisfies Role }))
    .orderBy("login")
    .forUpdate();
}

/** Throws a unique violation when the login is a member already. */
export async function insertMember(tx: Tx, row: MemberRow): Promise<void> {
  await tx("members").insert(row);
}

export async function updateRole(tx: Tx, workspaceId: string, login: string, role: Role): Promise<void> {
  await tx("members").where({ workspace_id: workspaceId, login }).update({ role });
}

export async function deleteMember(tx: Tx, workspaceId: string, login: string): Promise<void> {
  await tx("members").where({ workspace_id: workspaceId, login }).delete();
}
