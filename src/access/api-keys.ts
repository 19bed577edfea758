import { type Clock, toInstant } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/db/index.ts";
import { conflict, notFound } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import { mintToken, sha256 } from "../platform/secrets.ts";
import {
  insertKey,
  type KeyFilter,
  type KeyRow,
  listKeys,
  lockKey,
  setKeyEnabled,
  setKeyRevoked,
} from "./key-store.ts";
import { lockMember } from "./member-store.ts";
import type { ApiKeyRecord } from "./schema.ts";

/** Which key a change is about. With `member` the key counts as unknown unless it is that member's. */
export interface KeyRef {
  workspaceId: string;
  id: string;
  member?: string | undefined;
}

export interface NewKey {
  workspaceId: string;
  member: string;
  name: string;
  /** A text to use as the key instead of a minted one. */
  key?: string | undefined;
}

/** The keys that members call the API with. Of a key only its SHA-256 and first characters are stored. */
export interface ApiKeys {
  /** Newest first, dead ones included. */
  list(q: Queryable, workspaceId: string, filter: KeyFilter): Promise<ApiKeyRecord[]>;
  /** The one moment at which the key itself is known. Throws 404 when the login is no member. */
  create(tx: Tx, input: NewKey): Promise<{ apiKey: ApiKeyRecord; key: string }>;
  /** Throws 404 for an unknown key, 409 for one that is revoked or whose member was removed. */
  setEnabled(tx: Tx, ref: KeyRef, enabled: boolean): Promise<ApiKeyRecord>;
  /** For good; does nothing to a key that is revoked already. Throws 404 for an unknown key. */
  revoke(tx: Tx, ref: KeyRef): Promise<ApiKeyRecord>;
}

const tokenPrefix = "rck";

export function createApiKeys({ ids, clock }: { ids: Ids; clock: Clock }): ApiKeys {
  return {
    list: async (q, workspaceId, filter) => (await listKeys(q, workspaceId, filter)).map(toRecord),

    async create(tx, { workspaceId, member, name, key = mintToken(tokenPrefix) }) {
      const holder = await lockMember(tx, workspaceId, member);
      if (!holder) throw notFound(`No member has the login ${member}; add the member first.`);
      const row: KeyRow = {
        id: ids("key"),
        workspace_id: workspaceId,
        member,
        name,
        hash: sha256(key),
        preview: previewOf(key),
        enabled: 1,
        created_at: clock(),
        last_used_at: null,
        revoked_at: null,
        orphaned_at: null,
      };
      await insertKey(tx, row);
      return { apiKey: toRecord(row), key };
    },

    async setEnabled(tx, ref, enabled) {
      const row = await lockOwnKey(tx, ref);
      if (row.revoked_at !== null) throw conflict("This key is revoked for good; create a new one.");
      if (row.orphaned_at !== null)
        throw conflict("This key's member was removed, which ended it for good; create a new one.");
      await setKeyEnabled(tx, row.id, enabled);
      return toRecord({ ...row, enabled: enabled ? 1 : 0 });
    },

    async revoke(tx, ref) {
      const row = await lockOwnKey(tx, ref);
      if (row.revoked_at !== null) return toRecord(row);
      const now = clock();
      await setKeyRevoked(tx, row.id, now);
      return toRecord({ ...row, revoked_at: now });
    },
  };
}

async function lockOwnKey(tx: Tx, { workspaceId, id, member }: KeyRef): Promise<KeyRow> {
  const row = await lockKey(tx, workspaceId, id);
  if (!row || (member !== undefined && row.member !== member)) {
    throw notFound(`No API key has the id ${id}; see the list of keys.`);
  }
  return row;
}

/** Enough to tell keys apart; a key that someone chose may be guessable, so less of it is shown. */
function previewOf(key: string): string {
  return key.slice(0, key.startsWith(`${tokenPrefix}_`) ? 8 : 4);
}

function toRecord(row: KeyRow): ApiKeyRecord {
  return {
    id: row.id,
    name: row.name,
    member: row.member,
    preview: row.preview,
    enabled: row.enabled === 1,
    createdAt: toInstant(row.created_at),
    lastUsedAt: toInstant(row.last_used_at),
    revokedAt: toInstant(row.revoked_at),
    orphanedAt: toInstant(row.orphaned_at),
  };
}
