import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import knexFactory, { type Knex } from "knex";
import type { DatabaseConfig } from "../config.ts";
import type { Database } from "./database.ts";
import { mysqlKnexConfig, PatientMysqlClient } from "./mysql-client.ts";
import { busyTimeout } from "./sqlite-client.ts";

const settingsFor = (engine: DatabaseConfig["engine"]): Knex.MigratorConfig => ({
  directory: fileURLToPath(new URL("../../../migrations", import.meta.url)),
  tableName: "migrations",
  loadExtensions: [".js"],
  // SQLite applies all that is missing or nothing. MySQL commits each DDL statement by itself; the steps are
  // guarded so that a half-done one can be repeated.
  disableTransactions: engine === "mysql",
});

/** How long a process waits for another one that migrates; seconds. */
const patience = 30;

/** Applies what is missing, one process at a time; the others wait up to 30 s. Returns the names applied. */
export async function migrate(db: Database, config: DatabaseConfig): Promise<string[]> {
  return exclusively(db, config, async (knex, settings) => (await knex.migrate.latest(settings))[1]);
}

/** Takes back the newest step, or all of them. Returns their names. */
export async function rollback(db: Database, config: DatabaseConfig, all: boolean): Promise<string[]> {
  return exclusively(db, config, async (knex, settings) => {
    if (all) return (await knex.migrate.rollback(settings, true))[1];
    return (await knex.migrate.down(settings))[1];
  });
}

/** Names of the steps that are applied and of those that are not. */
export async function migrationStatus(db: Database): Promise<{ applied: string[]; pending: string[] }> {
  const [applied, pending] = await db.writer.migrate.list(settingsFor(db.engine));
  const nameOf = (entry: { name?: string; file?: string }) => entry.name ?? entry.file ?? "";
  return { applied: applied.map(nameOf), pending: pending.map(nameOf) };
}

/**
 * Knex's own lock is a row that stays when its process dies. Behind a lock that ends with the process that
 * row can be freed safely.
 */
async function exclusively<T>(
  db: Database,
  config: DatabaseConfig,
  work: (knex: Knex, settings: Knex.MigratorConfig) => Promise<T>,
): Promise<T> {
  const { knex, unlock } =
    config.engine === "sqlite" ? await lockFile(db.writer, config.path) : await lockServer(config.url);
  const settings = settingsFor(config.engine);
  try {
    await knex.migrate.forceFreeMigrationsLock(settings);
    return await work(knex, settings);
  } finally {
    await unlock();
  }
}

interface Locked {
  knex: Knex;
  unlock(): Promise<void>;
}

async function lockFile(knex: Knex, path: string): Promise<Locked> {
  const lock = new DatabaseSync(`${path}.migrating`, { timeout: patience * 1000 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    // Another process may be serving from this database.
    await knex.raw(`PRAGMA busy_timeout = ${patience * 1000}`);
  } catch (error) {
    lock.close();
    throw error;
  }
  return {
    knex,
    async unlock() {
      await knex.raw(`PRAGMA busy_timeout = ${busyTimeout}`);
      lock.close();
    },
  };
}

async function lockServer(url: string): Promise<Locked> {
  const knex = knexFactory(mysqlKnexConfig(url, PatientMysqlClient));
  try {
    const holder = await knex.client.acquireConnection();
    // The server ends the lock with its connection.
    const unlock = async () => {
      await knex.client.releaseConnection(holder);
      await knex.destroy();
    };
    const sql = "SELECT GET_LOCK(CONCAT('rollcall migrations ', DATABASE()), ?) AS taken";
    const [rows] = await knex.raw(sql, [patience]).connection(holder);
    if (rows[0]?.taken === 1) return { knex, unlock };
    await knex.client.releaseConnection(holder);
    throw new Error("Another process is migrating the database; start again when it is done.");
  } catch (error) {
    await knex.destroy();
    throw error;
  }
}
