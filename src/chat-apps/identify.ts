import type { Members } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import { ChatFailure } from "./platforms/index.ts";
import { type ChatAppRow, textsOf } from "./store.ts";
import type { WithToken } from "./tokens.ts";

/** Login of the member that a run for a user of the platform runs as. Throws ChatFailure. */
export type Identify = (app: ChatAppRow, userId: string) => Promise<string>;

export interface IdentifyDeps {
  db: Database;
  clock: Clock;
  members: Pick<Members, "list">;
  withToken: WithToken;
}

/** The platform limits how often it may be asked, and people seldom change their addresses. */
const freshMs = 5 * 60_000;
const mostKept = 1_000;

/**
 * Members have logins and no addresses. So an admin names domains in which a verified address says who somebody is: the
 * part before the @ is the login, whatever the case. Everybody else's runs run as the bot's owner.
 */
export function createIdentify({ db, clock, members, withToken }: IdentifyDeps): Identify {
  const known = new Map<string, { email: string | undefined; at: number }>();

  async function emailOf(app: ChatAppRow, userId: string): Promise<string | undefined> {
    const key = `${app.id}\n${app.team_id}\n${userId}`;
    const kept = known.get(key);
    if (kept && clock() - kept.at < freshMs) return kept.email;
    const email = await withToken(app, async (platform, token) => {
      return (await platform.user(token, userId)).verifiedEmail;
    }).catch((error) => {
      // Whoever the platform does not describe is nobody's member; one that it may describe later is waited for.
      if (error instanceof ChatFailure && error.kind === "refused") return undefined;
      throw error;
    });
    const [oldest] = known.keys();
    if (known.size >= mostKept && oldest !== undefined) known.delete(oldest);
    known.delete(key);
    known.set(key, { email, at: clock() });
    return email;
  }

  return async (app, userId) => {
    const domains = textsOf(app.email_domains);
    if (domains.length === 0) return app.owner;
    const login = loginOf(await emailOf(app, userId), domains);
    if (login === undefined) return app.owner;
    const all = await members.list(db.read, app.workspace_id);
    const [member, ...others] = all.filter((each) => each.login.toLowerCase() === login);
    return member && others.length === 0 ? member.login : app.owner;
  };
}

/** In lower case; undefined for addresses elsewhere. */
export function loginOf(email: string | undefined, domains: readonly string[]): string | undefined {
  const [, local, domain] = /^([^@]+)@([^@]+)$/.exec((email ?? "").trim().toLowerCase()) ?? [];
  return domain !== undefined && domains.includes(domain) ? local : undefined;
}
