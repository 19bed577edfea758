import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Connection, createConnection, format, type RowDataPacket } from "mysql2/promise";
import { migrate, openDatabase } from "../../src/platform/db/index.ts";

/**
 * A migrated database to copy from: dozens of steps for each of hundreds of databases would be most of what the
 * tests do. That the steps lead to this schema is tested by themselves, in test/migrations.
 */
export interface DatabaseTemplate {
  /** Path of a SQLite file that nobody has open. */
  sqlite: string;
  /** Statements that make the tables in an empty database; null without a MySQL server. */
  mysql: string | null;
}

/** Migrates an empty database of each engine once. `remove` deletes the file. */
export async function makeTemplate(mysqlUrl: string | null): Promise<DatabaseTemplate & { remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), "rollcall-template-"));
  const path = join(directory, "rollcall.sqlite");
  const config = { engine: "sqlite", path } as const;
  const db = openDatabase(config);
  await migrate(db, config);
  await db.close();
  return {
    sqlite: path,
    mysql: mysqlUrl === null ? null : await mysqlScript(mysqlUrl),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

async function mysqlScript(server: string): Promise<string> {
  const name = `rollcall_template_${randomBytes(8).toString("hex")}`;
  const connection = await createConnection({ uri: server, dateStrings: true });
  try {
    await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`);
    const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
    const config = { engine: "mysql", url } as const;
    const db = openDatabase(config);
    await migrate(db, config);
    await db.close();
    await connection.query(`USE ${name}`);
    return await describeTables(connection);
  } finally {
    await connection.query(`DROP DATABASE IF EXISTS ${name}`);
    await connection.end();
  }
}

/** All tables, and the rows of those that tell which steps were applied. */
async function describeTables(connection: Connection): Promise<string> {
  const [tables] = await connection.query<RowDataPacket[]>("SHOW TABLES");
  const statements = ["SET foreign_key_checks = 0"];
  for (const table of tables.map((row) => String(Object.values(row)[0]))) {
    const [[shown]] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE \`${table}\``);
    statements.push(String(shown?.["Create Table"]));
    if (!table.startsWith("migrations")) continue;
    const [rows] = await connection.query<RowDataPacket[]>(`SELECT * FROM \`${table}\``);
    for (const row of rows) statements.push(format(`INSERT INTO \`${table}\` SET ?`, [row]));
  }
  return [...statements, "SET foreign_key_checks = 1"].join(";\n");
}
