import { type Access, createAccess } from "../../src/access/index.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import type { Role } from "../../src/platform/http/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createLogger, type Logger } from "../../src/platform/logger.ts";
import { createRedactor, type Redactor } from "../../src/platform/redact.ts";
import { ensureWorkspace } from "../../src/workspaces/index.ts";

export interface TestWorkspace {
  workspaceId: string;
  access: Access;
  /** Key of the first member, `admin`. */
  adminKey: string;
  redactor: Redactor;
  logger: Logger;
  /** Lines that were logged so far. */
  lines: string[];
  /** Adds a member and returns a key of theirs. */
  addMember(login: string, role: Role): Promise<string>;
}

/** The first workspace of an empty database, with its first admin. */
export async function setUpWorkspace(db: Database, clock: Clock = systemClock): Promise<TestWorkspace> {
  const ids = createIds();
  const redactor = createRedactor();
  const lines: string[] = [];
  const logger = createLogger("debug", redactor, { write: (line: string) => void lines.push(line) });
  const access = createAccess({ db, ids, clock, logger, redactor });
  const { workspaceId, first } = await db.transaction(async (tx) => {
    const { id } = await ensureWorkspace(tx, { ids, clock });
    return { workspaceId: id, first: await access.ensureFirstAdmin(tx, { workspaceId: id }) };
  });
  if (!first) throw new Error("The database has a workspace with members already.");
  return {
    workspaceId,
    access,
    adminKey: first.key,
    redactor,
    logger,
    lines,
    addMember: (login, role) =>
      db.transaction(async (tx) => {
        await access.members.add(tx, { workspaceId, login, role });
        return (await access.apiKeys.create(tx, { workspaceId, member: login, name: "test" })).key;
      }),
  };
}

/** Opens some of the pool's connections, so that transactions which start together really run together. */
export async function openConnections(db: Database): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => db.ping()));
}
