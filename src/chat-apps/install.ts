import type { Access, Members } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, insertAll, type Tx } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { randomBase62, sha256 } from "../platform/secrets.ts";
import { ChatFailure, type ChatPlatforms, type Installation } from "./platforms/index.ts";
import { addressesOf } from "./present.ts";
import { requestRevocation } from "./revoke-job.ts";
import { type ChatSecrets, completed } from "./sealing.ts";
import { endOpenTurns } from "./stop-thread.ts";
import {
  beginInstall,
  type ChatAppRow,
  findCalled,
  findLinked,
  type InstallRow,
  lockChatApp,
  takeInstall,
  updateChatApps,
} from "./store.ts";

export interface InstallDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
  members: Pick<Members, "roles">;
  secrets: ChatSecrets;
  platforms: ChatPlatforms;
  systemAuditRow: Access["systemAuditRow"];
  baseUrl: string;
}

/** What a browser carries to the platform and back. */
export interface BegunInstall {
  /** For the cookie. */
  browser: string;
  /** Where to install. */
  url: string;
}

export type InstallEnd =
  | { kind: "installed"; app: string; team: string }
  /** The state is unknown, used up, too old, or another browser's. */
  | { kind: "stale" }
  | { kind: "refused"; why: string };

export type Installer = ReturnType<typeof createInstaller>;

/** For how long the platform may be asked for consent. */
export const stateMs = 10 * 60_000;

/** The one-time installation in a browser: link → state → platform → code → tokens. */
export function createInstaller(deps: InstallDeps) {
  const { db, clock, secrets, platforms, baseUrl } = deps;

  /** The link's installation and app; undefined: it is no good, or not any more. */
  async function linked(token: string): Promise<{ install: InstallRow; app: ChatAppRow } | undefined> {
    const install = await findLinked(db.read, sha256(token), clock());
    const app = install && (await appOf(install));
    return install && app ? { install, app } : undefined;
  }

  /** Undefined when it was deleted, or whoever made the link is no admin any more. */
  async function appOf({
    chat_app_id: id,
    requested_by: login,
  }: InstallRow): Promise<ChatAppRow | undefined> {
    const app = (await findCalled(db.read, [id])).get(id);
    const roles = app && (await deps.members.roles(db.read, app.workspace_id, [login]));
    return roles?.get(login) === "workspace_admin" ? app : undefined;
  }

  /** Uses the link up. Undefined: it is none, or not any more. */
  async function begin(token: string): Promise<BegunInstall | undefined> {
    const found = await linked(token);
    const credentials = found && completed(secrets.credentials(found.app));
    if (!found || !credentials) return undefined;
    const [state, browser] = [randomBase62(40), randomBase62(40)];
    const begun = {
      state_hash: sha256(state),
      browser_hash: sha256(browser),
      state_expires_at: clock() + stateMs,
    };
    if (!(await db.transaction((tx) => beginInstall(tx, found.install.id, begun)))) return undefined;
    const { redirect: redirectUri } = addressesOf(found.app.id, baseUrl);
    const { clientId } = credentials;
    return {
      browser,
      url: platforms[found.app.platform].authorizeUrl({ clientId, state, redirectUri }),
    };
  }

  /** What the platform led back with. The state is used up, whatever comes of it. */
  async function finish(state: string, browser: string, code: string | undefined): Promise<InstallEnd> {
    const wanted = { stateHash: sha256(state), browserHash: sha256(browser), now: clock() };
    const install = await db.transaction((tx) => takeInstall(tx, wanted));
    const app = install && (await appOf(install));
    if (!install || !app) return { kind: "stale" };
    if (code === undefined) return { kind: "refused", why: "The platform was not allowed to install it." };
    const credentials = completed(secrets.credentials(app));
    if (!credentials) return { kind: "refused", why: "Its secrets are not set any more." };
    try {
      const { redirect } = addressesOf(app.id, baseUrl);
      const given = await platforms[app.platform].exchange(credentials, code, redirect);
      return await keep(install, app, given);
    } catch (error) {
      if (!(error instanceof ChatFailure)) throw error;
      deps.logger.warn({ chatApp: app.id, reason: error.message }, "a chat app could not be installed");
      return { kind: "refused", why: error.message };
    }
  }

  async function keep(install: InstallRow, seen: ChatAppRow, given: Installation): Promise<InstallEnd> {
    const now = clock();
    return db.transaction(async (tx) => {
      const app = await lockChatApp(tx, seen.id);
      if (!app || app.credentials !== seen.credentials) {
        const tokens = secrets.sealTokens(seen.id, given);
        await requestRevocation(tx, deps.queue, { ...seen, tokens });
        return { kind: "refused", why: "The chat app was changed meanwhile; make another link." };
      }
      // In the same team the platform has put the new tokens in the place of the old ones.
      if (app.team_id !== null && app.team_id !== given.teamId) {
        await requestRevocation(tx, deps.queue, app);
        await endOpenTurns(
          deps,
          tx,
          app.id,
          "The chat app was installed in another workspace of the platform.",
        );
      }
      await updateChatApps(tx, [app.id], {
        ...{ state: "live", state_reason: null, tokens: secrets.sealTokens(app.id, given) },
        token_expires_at: given.expiresInMs === undefined ? null : now + given.expiresInMs,
        ...{ token_revision: app.token_revision + 1, renewing_until: null },
        ...{ team_id: given.teamId, team_name: given.teamName.slice(0, 200) },
        ...{ bot_user_id: given.botUserId, installed_at: now, updated_at: now },
      });
      await audit(tx, app, install, given);
      return { kind: "installed", app: app.name, team: given.teamName };
    });
  }

  function audit(tx: Tx, app: ChatAppRow, install: InstallRow, { teamId }: Installation): Promise<void> {
    const entry = {
      workspaceId: app.workspace_id,
      via: "system",
      action: "installChatApp",
      target: app.id,
      details: { team: teamId, linkOf: install.requested_by },
    } as const;
    return insertAll(tx, [deps.systemAuditRow(entry)]);
  }

  return { linked, begin, finish };
}
