import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Database } from "../platform/db/index.ts";
import { type AppError, forbidden, unauthorized } from "../platform/errors.ts";
import { type Actor, type Role, roles } from "../platform/http/index.ts";
import type { LastUse } from "../platform/last-use.ts";
import { sha256 } from "../platform/secrets.ts";
import { findHolders, type KeyHolder } from "./key-store.ts";

/** Who the bearer of an Authorization header is, read anew each time. Throws 401 or 403. */
export type Authenticate = (authorization: string | undefined) => Promise<Actor>;

/**
 * The hottest path of the service: requests that come in together share one query, and each of them is
 * answered from a read that began after it came in, so a change that was committed before counts.
 */
export function createAuthenticate({ db, usage }: { db: Database; usage: LastUse }): Authenticate {
  const holderOf = createBatchLoader<string, KeyHolder>((hashes) => findHolders(db.read, hashes));

  return async (authorization) => {
    const holder = await holderOf(sha256(bearerToken(authorization)));
    if (!holder) throw unauthorized("This API key is unknown; check it, or ask an admin for a new one.");
    const actor = actorOf(holder);
    usage.note(holder.id, holder.last_used_at);
    return actor;
  };
}

/** The scheme's letter case does not matter, and exactly one token has to follow it. */
function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw unauthorized("Send an API key: Authorization: Bearer <key>.");
  }
  const token = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw unauthorized("The Authorization header is malformed; send it as Bearer <key>.");
  }
  return token;
}

function actorOf(holder: KeyHolder): Actor {
  if (holder.revoked_at !== null) throw unauthorized("This API key is revoked; use another one.");
  if (holder.enabled !== 1) throw unauthorized("This API key is disabled; enable it or use another one.");
  if (holder.orphaned_at !== null) throw noMember();
  const role = roles.find((known) => known === holder.role) satisfies Role | undefined;
  if (role === undefined) throw noMember();
  return { workspaceId: holder.workspace_id, login: holder.member, role, keyId: holder.id };
}

function noMember(): AppError {
  return forbidden("This API key's member was removed from the workspace; ask an admin for a new key.");
}
