import type { Clock } from "../platform/clock.ts";
import { isUniqueViolation, type Tx } from "../platform/db/index.ts";
import type { ApiKeys } from "./api-keys.ts";
import { hasMembers, insertMember } from "./member-store.ts";

const login = "admin";

/**
 * Gives a workspace without members the member `admin` and a key: the chosen one or a minted one. Undefined
 * when it has members already, also when another process that starts now was first.
 */
export async function makeFirstAdmin(
  tx: Tx,
  { workspaceId, adminKey }: { workspaceId: string; adminKey?: string | undefined },
  { clock, apiKeys }: { clock: Clock; apiKeys: ApiKeys },
): Promise<{ login: string; keyId: string; key: string } | undefined> {
  if (await hasMembers(tx, workspaceId)) return undefined;
  try {
    await insertMember(tx, {
      workspace_id: workspaceId,
      login,
      role: "workspace_admin",
      created_at: clock(),
    });
  } catch (error) {
    if (isUniqueViolation(error)) return undefined;
    throw error;
  }
  const made = await apiKeys.create(tx, { workspaceId, member: login, name: "First key", key: adminKey });
  return { login, keyId: made.apiKey.id, key: made.key };
}
