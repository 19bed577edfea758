import type { Database } from "../../src/platform/db/index.ts";
import { tableNames } from "./databases.ts";

export interface TableSchema {
  /** `type` or `type null` by the column's name. */
  columns: Record<string, string>;
  primaryKey: string[];
  /** `unique` or `index` and the columns in their order, by the index's name. */
  indexes: Record<string, string>;
  /** `table(columns)` by the referring columns. */
  foreignKeys: Record<string, string>;
}

export type Schema = Record<string, TableSchema>;

/** What both engines hold of a database's structure, in words that are the same for both. */
export async function schemaOf(db: Database): Promise<Schema> {
  const schema: Schema = {};
  for (const table of await tableNames(db)) {
    schema[table] = await (db.engine === "mysql" ? mysqlTable(db, table) : sqliteTable(db, table));
  }
  return schema;
}

interface Column {
  name: string;
  type: string;
  nullable: boolean;
}

interface Index {
  name: string;
  unique: boolean;
  columns: string;
}

interface ForeignKey {
  columns: string;
  target: string;
}

function normalForm(
  columns: Column[],
  primaryKey: string,
  indexes: Index[],
  foreignKeys: ForeignKey[],
): TableSchema {
  const byName = (entries: [string, string][]) =>
    Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  const keyColumns = primaryKey.split(",");
  return {
    columns: Object.fromEntries(
      columns.map(({ name, type, nullable }) => {
        // SQLite calls the columns of a primary key nullable; nothing that knows the key relies on it.
        const word = nullable && !keyColumns.includes(name) ? `${typeWord(type)} null` : typeWord(type);
        return [name, word];
      }),
    ),
    primaryKey: keyColumns,
    indexes: byName(
      indexes.map(({ name, unique, columns: on }) => [name, `${unique ? "unique" : "index"}(${on})`]),
    ),
    foreignKeys: byName(foreignKeys.map(({ columns: on, target }) => [on, target])),
  };
}

/** MySQL tells the width of integers in some versions only; SQLite has one type each for whole numbers below bigint, text and floats. */
function typeWord(type: string): string {
  const plain = type.toLowerCase().replace(/^(bigint|int|smallint)\(\d+\)$/, "$1");
  return { integer: "int", smallint: "int", mediumtext: "text", float: "double" }[plain] ?? plain;
}

async function sqliteTable(db: Database, table: string): Promise<TableSchema> {
  const columns: { name: string; type: string; notnull: number; pk: number }[] = await db.writer.raw(
    `PRAGMA table_info(${table})`,
  );
  const list: { name: string; unique: number; origin: string }[] = await db.writer.raw(
    `PRAGMA index_list(${table})`,
  );
  const indexes: Index[] = [];
  for (const { name, unique, origin } of list) {
    if (origin === "pk") continue;
    const parts: { name: string }[] = await db.writer.raw(`PRAGMA index_info(${name})`);
    indexes.push({ name, unique: unique === 1, columns: parts.map((part) => part.name).join(",") });
  }
  const keys: { from: string; table: string; to: string }[] = await db.writer.raw(
    `PRAGMA foreign_key_list(${table})`,
  );
  const primary = columns.filter((column) => column.pk > 0).sort((a, b) => a.pk - b.pk);
  return normalForm(
    columns.map(({ name, type, notnull }) => ({ name, type, nullable: notnull === 0 })),
    primary.map((column) => column.name).join(","),
    indexes,
    keys.map(({ from, table: target, to }) => ({ columns: from, target: `${target}(${to})` })),
  );
}

async function mysqlTable(db: Database, table: string): Promise<TableSchema> {
  const rows = async (sql: string) => (await db.writer.raw(sql, [table]))[0];
  const where = "table_schema = DATABASE() AND table_name = ?";
  const columns = await rows(
    `SELECT column_name AS name, column_type AS type, is_nullable = 'YES' AS nullable
     FROM information_schema.columns WHERE ${where} ORDER BY ordinal_position`,
  );
  const indexes: { name: string; unique: number; columns: string }[] = await rows(
    `SELECT index_name AS name, MIN(non_unique) = 0 AS \`unique\`, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columns
     FROM information_schema.statistics WHERE ${where} GROUP BY index_name`,
  );
  const keys = await rows(
    `SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) AS columns,
       CONCAT(referenced_table_name, '(', GROUP_CONCAT(referenced_column_name ORDER BY ordinal_position), ')') AS target
     FROM information_schema.key_column_usage WHERE ${where} AND referenced_table_name IS NOT NULL
     GROUP BY constraint_name, referenced_table_name`,
  );
  return normalForm(
    columns.map((column: { name: string; type: string; nullable: number }) => ({
      ...column,
      nullable: column.nullable === 1,
    })),
    indexes.find(({ name }) => name === "PRIMARY")?.columns ?? "",
    indexes
      // InnoDB makes an index for a foreign key that no other one serves.
      .filter(({ name }) => name !== "PRIMARY" && !name.endsWith("_foreign"))
      .map((index) => ({ ...index, unique: index.unique === 1 })),
    keys,
  );
}
