import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { Endpoint } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import { createLastUse } from "../platform/last-use.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import { type ApiKeys, createApiKeys } from "./api-keys.ts";
import { type Audit, createAudit } from "./audit.ts";
import { auditEndpoints } from "./audit-endpoints.ts";
import { type Authenticate, createAuthenticate } from "./authenticate.ts";
import { makeFirstAdmin } from "./first-admin.ts";
import { createHandover, type Handover } from "./handover.ts";
import { handoverEndpoints } from "./handover-endpoints.ts";
import { keyEndpoints } from "./key-endpoints.ts";
import { setLastUsed } from "./key-store.ts";
import { memberEndpoints } from "./member-endpoints.ts";
import { createMembers, type Members } from "./members.ts";
import type { OwnedKind } from "./ownerships.ts";

export interface Access extends Pick<Audit, "auditRow" | "systemAuditRow"> {
  authenticate: Authenticate;
  members: Members;
  apiKeys: ApiKeys;
  /** `kinds` are the things that members own, of all features. */
  handover(kinds: readonly OwnedKind[]): Handover;
  endpoints(kinds: readonly OwnedKind[]): Endpoint[];
  /**
   * Makes the member `admin` and a key for a workspace that has no member at all, and returns the key: the
   * given one or a minted one. Undefined, and nothing changed, when there are members.
   */
  ensureFirstAdmin(
    tx: Tx,
    input: { workspaceId: string; adminKey?: string | undefined },
  ): Promise<{ key: string } | undefined>;
  /** Writes what is still to be written. Call it when requests have ended and before the database is closed. */
  stop(): Promise<void>;
}

export interface AccessDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  logger: Logger;
  redactor: Redactor;
}

/** Members, roles, API keys and the audit log. */
export function createAccess(deps: AccessDeps): Access {
  const { db, clock } = deps;
  const audit = createAudit(deps);
  const members = createMembers(deps);
  const apiKeys = createApiKeys(deps);
  const usage = createLastUse({ ...deps, write: setLastUsed });

  const handover = (kinds: readonly OwnedKind[]) => createHandover({ members, kinds });

  return {
    auditRow: audit.auditRow,
    systemAuditRow: audit.systemAuditRow,
    authenticate: createAuthenticate({ db, usage }),
    members,
    apiKeys,
    handover,
    endpoints: (kinds) => [
      ...memberEndpoints({ db, members }),
      ...handoverEndpoints({ db, kinds, handover: handover(kinds) }),
      ...keyEndpoints({ db, apiKeys }),
      ...auditEndpoints({ db, audit }),
    ],
    async ensureFirstAdmin(tx, input) {
      const made = await makeFirstAdmin(tx, input, { clock, apiKeys });
      if (!made) return undefined;
      const { workspaceId } = input;
      const details = { role: "workspace_admin", apiKey: made.keyId };
      const entry = { workspaceId, via: "system", action: "addMember", target: made.login, details } as const;
      const { table, row } = audit.systemAuditRow(entry);
      await tx(table).insert(row);
      return { key: made.key };
    },
    stop: usage.flush,
  };
}
