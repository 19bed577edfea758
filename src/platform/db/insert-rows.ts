import type { Knex } from "knex";
import type { Tx } from "./queryable.ts";

/** Rows to insert, in this order of tables. */
export type Rows = ReadonlyArray<{ table: string; row: Readonly<Record<string, unknown>> }>;

type Row = Rows[number]["row"];

/** One insert of several rows; `length` is that of the values' text, about. */
export interface Insert {
  sql: string;
  values: Knex.Value[];
  length: number;
}

/** The largest statement that is sent: values on SQLite are limited, bytes on MySQL (16 MiB on MariaDB). */
const maxValues = 20_000;
export const maxTextLength = 2 * 1024 * 1024;

/**
 * Rows of one table as few statements. Both engines take this form, and it costs a tenth of building the same statement
 * piece by piece.
 */
export function* insertsOf(table: string, rows: readonly Row[]): Generator<Insert> {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const marks = `(${columns.map(() => "?").join(",")})`;
  const names = columns.map((column) => `\`${column}\``).join(",");
  for (const { values, length } of chunksOf(rows, columns)) {
    const all = values.map(() => marks).join(",");
    yield { sql: `insert into \`${table}\` (${names}) values ${all}`, values: values.flat(), length };
  }
}

export async function insertRows(tx: Tx, table: string, rows: readonly Row[]): Promise<void> {
  for (const { sql, values } of insertsOf(table, rows)) await tx.raw(sql, values);
}

/** Inserts many rows in the caller's transaction, each table's in as few statements as they fit into. */
export async function insertAll(tx: Tx, rows: Rows): Promise<void> {
  for (const [table, alike] of Map.groupBy(rows, (each) => each.table)) {
    await insertRows(
      tx,
      table,
      alike.map(({ row }) => row),
    );
  }
}

function* chunksOf(rows: readonly Row[], columns: readonly string[]) {
  let values: Knex.Value[][] = [];
  let length = 0;
  for (const row of rows) {
    const added = columns.map((column) => (row[column] ?? null) as Knex.Value);
    const addedLength = added.reduce<number>((sum, value) => sum + lengthInStatement(value), 0);
    const full = (values.length + 1) * columns.length > maxValues || length + addedLength > maxTextLength;
    if (full && values.length > 0) {
      yield { values, length };
      values = [];
      length = 0;
    }
    values.push(added);
    length += addedLength;
  }
  if (values.length > 0) yield { values, length };
}

/** The driver for MySQL writes bytes as hexadecimal digits. */
function lengthInStatement(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.length * 2 : 0;
}
