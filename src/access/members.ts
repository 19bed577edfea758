import { type Clock, toInstant } from "../platform/clock.ts";
import { isUniqueViolation, type Queryable, type Tx } from "../platform/db/index.ts";
import { conflict, notFound } from "../platform/errors.ts";
import type { Role } from "../platform/http/index.ts";
import { orphanKeys } from "./key-store.ts";
import {
  deleteMember,
  findMembers,
  insertMember,
  listMembers,
  lockMember,
  lockMembersAndAdmins,
  type MemberRow,
  updateRole,
} from "./member-store.ts";
import type { MemberRecord } from "./schema.ts";

export interface MemberInput {
  workspaceId: string;
  login: string;
  role: Role;
}

/** Who belongs to a workspace, with which role. Each workspace always keeps a workspace admin. */
export interface Members {
  /** By login. */
  list(q: Queryable, workspaceId: string): Promise<MemberRecord[]>;
  /** The roles of those of these logins that are members now. */
  roles(q: Queryable, workspaceId: string, logins: readonly string[]): Promise<Map<string, Role>>;
  /**
   * The member's role, which stays until the transaction ends; undefined for no member. Whoever makes something
   * that acts in a member's name holds them first, so that a removal at the same moment finds it.
   */
  hold(tx: Tx, workspaceId: string, login: string): Promise<Role | undefined>;
  /** Throws 409 when the login is a member. Keys that the login had as an earlier member stay dead. */
  add(tx: Tx, input: MemberInput): Promise<MemberRecord>;
  /** Throws 404 for an unknown login, 409 when no workspace admin would be left. `before` is the old role. */
  changeRole(tx: Tx, input: MemberInput): Promise<{ member: MemberRecord; before: Role }>;
  /**
   * Ends the member's keys for good and returns the role that was lost. Throws as `changeRole` does. What they own is
   * another matter: see handover.ts.
   */
  remove(tx: Tx, workspaceId: string, login: string): Promise<Role>;
}

export function createMembers({ clock }: { clock: Clock }): Members {
  return {
    list: async (q, workspaceId) => (await listMembers(q, workspaceId)).map(toRecord),

    async roles(q, workspaceId, logins) {
      const found = await findMembers(q, workspaceId, logins);
      return new Map(found.map(({ login, role }) => [login, role]));
    },

    hold: async (tx, workspaceId, login) => (await lockMember(tx, workspaceId, login))?.role,

    async add(tx, { workspaceId, login, role }) {
      const row: MemberRow = { workspace_id: workspaceId, login, role, created_at: clock() };
      try {
        await insertMember(tx, row);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        throw conflict(`${login} is a member already; change the role instead.`);
      }
      // A removal ended them already; this also covers a member row that was deleted in the database itself.
      await orphanKeys(tx, workspaceId, login, clock());
      return toRecord(row);
    },

    async changeRole(tx, { workspaceId, login, role }) {
      const row = await lockForChange(tx, workspaceId, login, role);
      await updateRole(tx, workspaceId, login, role);
      return { member: toRecord({ ...row, role }), before: row.role };
    },

    async remove(tx, workspaceId, login) {
      const row = await lockForChange(tx, workspaceId, login, undefined);
      await orphanKeys(tx, workspaceId, login, clock());
      await deleteMember(tx, workspaceId, login);
      return row.role;
    },
  };
}

/** `after` is the role the member is about to have; undefined for none. */
async function lockForChange(
  tx: Tx,
  workspaceId: string,
  login: string,
  after: Role | undefined,
): Promise<MemberRow> {
  const locked = await lockMembersAndAdmins(tx, workspaceId, [login]);
  const row = locked.find((member) => member.login === login);
  if (!row) throw notFound(`No member has the login ${login}; see the list of members.`);
  const otherAdmins = locked.filter((member) => member.role === "workspace_admin" && member !== row);
  if (row.role === "workspace_admin" && after !== "workspace_admin" && otherAdmins.length === 0) {
    throw conflict(
      `${login} is the last workspace admin; give another member the role workspace_admin first.`,
    );
  }
  return row;
}

function toRecord({ login, role, created_at }: MemberRow): MemberRecord {
  return { login, role, createdAt: toInstant(created_at) };
}
