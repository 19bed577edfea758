import type { Queryable, Tx } from "../platform/db/index.ts";
import { notFound, unprocessable } from "../platform/errors.ts";
import { atLeast, type Role } from "../platform/http/index.ts";
import { countLiveKeys } from "./key-store.ts";
import { findMembers, lockMembersAndAdmins, type MemberRow } from "./member-store.ts";
import type { Members } from "./members.ts";
import type { OwnedKind } from "./ownerships.ts";
import type { Owned } from "./schema.ts";

/** What somebody owns, by its kind. */
export type OwnedByKind = Record<string, Owned[]>;

/** How many of each kind were concerned. */
export type Counts = Record<string, number>;

export type Handover = ReturnType<typeof createHandover>;

/** What becomes of the things that act in a member's name when that member goes, or gives them away. */
export function createHandover({ members, kinds }: { members: Members; kinds: readonly OwnedKind[] }) {
  async function ownedBy(q: Queryable, workspaceId: string, login: string): Promise<OwnedByKind> {
    const owned: OwnedByKind = {};
    for (const { kind, ownedBy } of kinds) owned[kind] = await ownedBy(q, workspaceId, login);
    return owned;
  }

  /** Throws 404 for a login that is no member and owns nothing: who was removed may still own something. */
  async function requireOwner(q: Queryable, workspaceId: string, login: string, owned: OwnedByKind) {
    const ownsNothing = Object.values(owned).every((records) => records.length === 0);
    const [member] = await findMembers(q, workspaceId, [login]);
    if (!member && ownsNothing) throw unknownLogin(login);
  }

  async function reassignAll(tx: Tx, workspaceId: string, from: string, to: string): Promise<Counts> {
    const counts: Counts = {};
    for (const { kind, reassign } of kinds) counts[kind] = (await reassign(tx, workspaceId, from, to)).length;
    return counts;
  }

  async function releaseAll(tx: Tx, workspaceId: string, login: string): Promise<Counts> {
    const counts: Counts = {};
    for (const { kind, release } of kinds)
      counts[kind] = (await release(tx, workspaceId, login, `${login} is not a member any more.`)).length;
    return counts;
  }

  /** As the records are once they belong to somebody else. */
  const afterwards = (owned: OwnedByKind): OwnedByKind =>
    Object.fromEntries(
      kinds.map(({ kind, worksOn }) => [
        kind,
        (owned[kind] ?? []).map((record) => ({ ...record, enabled: record.enabled && worksOn })),
      ]),
    );

  return {
    /** Throws 404 for a login that is no member and owns nothing. */
    async ownerships(q: Queryable, workspaceId: string, login: string) {
      const owned = await ownedBy(q, workspaceId, login);
      await requireOwner(q, workspaceId, login, owned);
      return { ...owned, apiKeys: await countLiveKeys(q, workspaceId, login) };
    },

    /**
     * Removes a member after everything of theirs was given to `to`, or stopped without one. `details` are for the audit
     * log. Throws 404 for an unknown login, 409 for the last workspace admin, 422 when `to` may not own things.
     */
    async remove(
      tx: Tx,
      { workspaceId, login, to }: { workspaceId: string; login: string; to: string | undefined },
    ): Promise<{ counts: Counts; details: { before: Role } }> {
      // Held before anything of theirs is looked for: who makes something in this member's name holds the row, too.
      const held = await lockMembersAndAdmins(tx, workspaceId, to === undefined ? [login] : [login, to]);
      if (!held.some((member) => member.login === login)) throw unknownLogin(login);
      if (to !== undefined) requireHeir(held, login, to);
      const counts = await (to === undefined
        ? releaseAll(tx, workspaceId, login)
        : reassignAll(tx, workspaceId, login, to));
      const before = await members.remove(tx, workspaceId, login);
      const passed = to === undefined ? { stopped: counts } : { to, reassigned: counts };
      return { counts, details: { before, ...passed } };
    },

    /** Gives everything of one login to another. Returns it as it is then, and how many there were of each kind. */
    async handOver(tx: Tx, workspaceId: string, from: string, to: string) {
      const held = await lockMembersAndAdmins(tx, workspaceId, [from, to]);
      const owned = await ownedBy(tx, workspaceId, from);
      await requireOwner(tx, workspaceId, from, owned);
      requireHeir(held, from, to);
      return { owned: afterwards(owned), counts: await reassignAll(tx, workspaceId, from, to) };
    },

    /** What `handOver` would return as `owned`. Changes nothing and throws as it does. */
    async preview(q: Queryable, workspaceId: string, from: string, to: string): Promise<OwnedByKind> {
      const owned = await ownedBy(q, workspaceId, from);
      await requireOwner(q, workspaceId, from, owned);
      requireHeir(await findMembers(q, workspaceId, [to]), from, to);
      return afterwards(owned);
    },
  };
}

const unknownLogin = (login: string) =>
  notFound(`No member has the login ${login}; see the list of members.`);

function requireHeir(members: readonly MemberRow[], from: string, to: string): void {
  const heir = members.find((member) => member.login === to);
  if (to === from) throw unprocessable(`${to} is who it is to be taken from; name another member.`);
  if (!heir || !atLeast(heir.role, "operator"))
    throw unprocessable(`${to} is no member with the role operator; name one who may start runs.`);
}
