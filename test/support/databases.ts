import { randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, beforeEach, inject, onTestFinished } from "vitest";
import type { DatabaseConfig } from "../../src/platform/config.ts";
import { type Database, openDatabase } from "../../src/platform/db/index.ts";

export type Engine = DatabaseConfig["engine"];

export interface TestDatabase {
  readonly db: Database;
  readonly config: DatabaseConfig;
}

/** The engines that this run tests, for `describe.each`. MySQL is among them when the global set-up found one. */
export function databases(): Engine[] {
  return inject("mysqlUrl") ? ["sqlite", "mysql"] : ["sqlite"];
}

/**
 * A migrated database for the tests of a describe block: made before the first, emptied before each and
 * removed after the last one. Read `db` and `config` within a test or a hook; they do not exist earlier.
 */
export function useDatabase(engine: Engine): TestDatabase {
  let current: (TestDatabase & { remove(): Promise<void> }) | undefined;
  const made = () => {
    if (!current)
      throw new Error("The database is made before the first test; read it within a test or a hook.");
    return current;
  };
  beforeAll(async () => {
    current = await create(engine, true);
  });
  beforeEach(() => emptyTables(made().db));
  afterAll(() => current?.remove());
  return {
    get db() {
      return made().db;
    },
    get config() {
      return made().config;
    },
  };
}

/**
 * A database for the running test alone, which may break it; removed when that test is finished. `migrated`
 * (the default) says whether it has tables.
 */
export async function freshDatabase(engine: Engine, { migrated = true } = {}): Promise<TestDatabase> {
  const { db, config, remove } = await create(engine, migrated);
  onTestFinished(remove);
  return { db, config };
}

/** Deletes all rows but those that tell which migrations are applied. */
export async function emptyTables(db: Database): Promise<void> {
  const mysql = db.engine === "mysql";
  const tables = await filledTables(db);
  if (tables.length === 0) return;
  await db.transaction(async (tx) => {
    await tx.raw(mysql ? "SET SESSION foreign_key_checks = 0" : "PRAGMA defer_foreign_keys = ON");
    for (const table of tables) await tx(table).delete();
    if (mysql) await tx.raw("SET SESSION foreign_key_checks = 1");
  });
}

/** One question instead of a statement for each of dozens of tables, most of which are empty. */
async function filledTables(db: Database): Promise<string[]> {
  const tables = await tableNames(db);
  if (tables.length === 0) return [];
  const questions = tables.map((table) => `SELECT '${table}' AS name WHERE EXISTS (SELECT 1 FROM ${table})`);
  const found = await db.writer.raw(questions.join(" UNION ALL "));
  const rows: { name: string }[] = db.engine === "mysql" ? found[0] : found;
  return rows.map((row) => row.name);
}

/** Names of the service's own tables in alphabetical order. */
export async function tableNames(db: Database): Promise<string[]> {
  const rows =
    db.engine === "mysql"
      ? (
          await db.writer.raw(
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
          )
        )[0]
      : await db.writer.raw(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        );
  const names = (rows as { name: string }[]).map((row) => row.name);
  return names.filter((name) => !name.startsWith("migrations")).sort();
}

async function create(engine: Engine, migrated: boolean) {
  const { config, remove } = engine === "mysql" ? await createMysql(migrated) : createSqlite(migrated);
  const db = openDatabase(config);
  return {
    db,
    config,
    async remove() {
      await db.close();
      await remove();
    },
  };
}

function createSqlite(migrated: boolean) {
  const directory = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const path = join(directory, "rollcall.sqlite");
  if (migrated) copyFileSync(inject("databaseTemplate").sqlite, path);
  const config: DatabaseConfig = { engine: "sqlite", path };
  return { config, remove: async () => rmSync(directory, { recursive: true, force: true }) };
}

async function createMysql(migrated: boolean) {
  const server = inject("mysqlUrl");
  if (!server)
    throw new Error("There is no MySQL server in this run; use the engines that databases() returns.");
  const name = `rollcall_test_${randomBytes(8).toString("hex")}`;
  // Its default collation ignores case: tables that forget to ask for a binary one are found out.
  await execute(server, `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`);
  const config: DatabaseConfig = {
    engine: "mysql",
    url: Object.assign(new URL(server), { pathname: `/${name}` }).href,
  };
  const script = migrated ? inject("databaseTemplate").mysql : null;
  if (script !== null) await execute(config.url, script);
  return { config, remove: () => execute(server, `DROP DATABASE IF EXISTS ${name}`) };
}

async function execute(url: string, sql: string): Promise<void> {
  const connection = await createConnection({ uri: url, multipleStatements: true });
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}
