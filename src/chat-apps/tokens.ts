import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { ChatFailure, type ChatPlatform, type ChatPlatforms, type ChatTokens } from "./platforms/index.ts";
import { type ChatSecrets, completed } from "./sealing.ts";
import { type ChatAppRow, claimRenewal, notInstalled, updateAsOf } from "./store.ts";

export interface TokenDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  secrets: ChatSecrets;
  platforms: ChatPlatforms;
}

/** Calls of the platform with the app's token. */
export type WithToken = <T>(
  app: ChatAppRow,
  work: (platform: ChatPlatform, token: string) => Promise<T>,
) => Promise<T>;

/** A token is renewed when it has this long left, and not used when it has less than the second, milliseconds. */
const renewBeforeMs = 30 * 60_000;
const leastMs = 60_000;

/** Longer than the platform may take to answer: until then nobody else renews. */
const renewingMs = 30_000;

/**
 * Gives the app's token to `work`, renewed in time by one process at a time. An app whose token the platform does not
 * take any more has to be installed again: that is noted, and the failure goes on to the caller. What cannot be opened
 * with the keys of this process is left as it is: the right key may come back.
 */
export function createWithToken(deps: TokenDeps): WithToken {
  const { db, clock, logger, secrets, platforms } = deps;

  async function tokenOf(app: ChatAppRow): Promise<string> {
    const tokens = secrets.tokens(app);
    if (!tokens) throw new ChatFailure("unavailable", "The tokens of the chat app cannot be opened.");
    const leftMs = app.token_expires_at === null ? Number.POSITIVE_INFINITY : app.token_expires_at - clock();
    if (leftMs > renewBeforeMs || tokens.refreshToken === undefined) return tokens.accessToken;
    try {
      return await renew(app, tokens.refreshToken);
    } catch (error) {
      const later = error instanceof ChatFailure && error.kind !== "unauthorised";
      if (later && leftMs > leastMs) return tokens.accessToken;
      throw error;
    }
  }

  async function renew(app: ChatAppRow, refreshToken: string): Promise<string> {
    const now = clock();
    const mine = await db.transaction((tx) => claimRenewal(tx, app, { now, until: now + renewingMs }));
    if (!mine) throw new ChatFailure("unavailable", "The token is being renewed.", 1_000);
    const credentials = completed(secrets.credentials(app));
    if (!credentials) throw new ChatFailure("unavailable", "The secrets of the chat app cannot be opened.");
    const issued = await platforms[app.platform].refresh(credentials, refreshToken).catch(async (error) => {
      await db.transaction((tx) => updateAsOf(tx, app, { renewing_until: null }));
      throw error;
    });
    // Without a new one the one before goes on.
    const tokens: ChatTokens = { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
    await db.transaction((tx) =>
      updateAsOf(tx, app, {
        tokens: secrets.sealTokens(app.id, tokens),
        token_expires_at: issued.expiresInMs === undefined ? null : clock() + issued.expiresInMs,
        token_revision: app.token_revision + 1,
        renewing_until: null,
      }),
    );
    return tokens.accessToken;
  }

  /** False: the app has other tokens by now, or is gone. */
  async function lose(app: ChatAppRow, why: string): Promise<boolean> {
    const change = {
      ...notInstalled,
      state_reason: why,
      token_revision: app.token_revision + 1,
      updated_at: clock(),
    };
    if (!(await db.transaction((tx) => updateAsOf(tx, app, change)))) return false;
    logger.warn({ chatApp: app.id, reason: why }, "a chat app has to be installed again");
    return true;
  }

  return async (app, work) => {
    try {
      return await work(platforms[app.platform], await tokenOf(app));
    } catch (error) {
      const lost = error instanceof ChatFailure && error.kind === "unauthorised";
      if (lost && !(await lose(app, error.message)))
        throw new ChatFailure(
          "unavailable",
          "The chat app was installed again, or its token renewed, meanwhile.",
        );
      throw error;
    }
  };
}
