import type { Knex } from "knex";
import type { Tx } from "./queryable.ts";

type Value = string | number | null;

/**
 * What one statement over many rows says of a column that has another value for each: the value itself where all agree,
 * else a choice by the column `id`. The list may not be empty, and is to be as short as a statement should be.
 */
export function valueById(
  tx: Tx,
  values: readonly (readonly [id: string, value: Value])[],
): Value | Knex.Raw {
  const [[, first] = ["", null]] = values;
  if (values.every(([, value]) => value === first)) return first;
  return tx.raw(`case id ${"when ? then ? ".repeat(values.length)}end`, values.flat());
}

/** The same for several columns: what an update sets so that each row, found by its id, gets its own values. */
export function columnsById<C extends string>(
  tx: Tx,
  names: readonly C[],
  rows: readonly (readonly [id: string, columns: Readonly<Record<C, Value>>])[],
): Record<string, Value | Knex.Raw> {
  const own = (name: C) => rows.map(([id, columns]) => [id, columns[name]] as const);
  return Object.fromEntries(names.map((name) => [name, valueById(tx, own(name))]));
}
