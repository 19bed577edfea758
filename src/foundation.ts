import { type Access, createAccess } from "./access/index.ts";
import { systemClock } from "./platform/clock.ts";
import { type Config, secretsOf } from "./platform/config.ts";
import { type Database, migrate, openDatabase } from "./platform/db/index.ts";
import { createIds, type Ids } from "./platform/ids.ts";
import { createLogger, type Logger, type LogStream } from "./platform/logger.ts";
import { createRedactor, type Redactor } from "./platform/redact.ts";
import { ensureWorkspace } from "./workspaces/index.ts";

/** What the server and the command line have in common: a migrated database with a workspace and an admin. */
export interface Foundation {
  config: Config;
  db: Database;
  logger: Logger;
  redactor: Redactor;
  ids: Ids;
  access: Access;
  workspaceId: string;
  /** The first admin's key, when this start has made it. */
  firstKey: string | undefined;
}

/**
 * Opens and migrates the database; makes the first workspace and its admin when there is none. Logs go to
 * `logStream`, or to standard output without one.
 */
export async function layFoundation(config: Config, logStream?: LogStream): Promise<Foundation> {
  const redactor = createRedactor();
  for (const secret of secretsOf(config)) redactor.register(secret);
  const logger = createLogger(config.logLevel, redactor, logStream);
  const db = openDatabase(config.database);
  const ids = createIds();
  const clock = systemClock;
  const access = createAccess({ db, ids, clock, logger, redactor });
  try {
    await migrate(db, config.database);
    const { workspaceId, firstKey } = await db.transaction(async (tx) => {
      const { id } = await ensureWorkspace(tx, { ids, clock });
      const admin = await access.ensureFirstAdmin(tx, { workspaceId: id, adminKey: config.adminKey });
      return { workspaceId: id, firstKey: admin?.key };
    });
    return { config, db, logger, redactor, ids, access, workspaceId, firstKey };
  } catch (error) {
    await db.close();
    throw error;
  }
}
