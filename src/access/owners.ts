import type { Tx } from "../platform/db/index.ts";
import { forbidden, unprocessable } from "../platform/errors.ts";
import { type Actor, atLeast } from "../platform/http/index.ts";
import type { Members } from "./members.ts";

/**
 * Throws 403 unless the actor owns the thing or is a workspace admin: it acts with its owner's connections, so nobody
 * else decides what it does. `what` is its kind in words, such as `webhook`.
 */
export function requireOwn({ login, role }: Actor, owner: string, what: string): void {
  if (owner !== login && !atLeast(role, "workspace_admin"))
    throw forbidden(`This ${what} belongs to ${owner}; ask its owner or a workspace admin to change it.`);
}

/** Throws 403 when the actor may not make that member the owner of something. */
export function requireMayName({ login, role }: Actor, owner: string): void {
  if (owner !== login && !atLeast(role, "workspace_admin"))
    throw forbidden("Only a workspace admin names another owner; leave it out, or ask one.");
}

/** Throws 422 unless the member may start runs, which stays so until the transaction ends; see `Members.hold`. */
export async function holdOwner(
  members: Pick<Members, "hold">,
  tx: Tx,
  workspaceId: string,
  login: string,
): Promise<void> {
  const role = await members.hold(tx, workspaceId, login);
  if (role === undefined || !atLeast(role, "operator"))
    throw unprocessable(`${login} is no member with the role operator; choose one who may start runs.`);
}
