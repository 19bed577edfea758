import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import knexFactory, { type Knex } from "knex";
import type { DatabaseConfig } from "../config.ts";
import { type AppError, unavailable } from "../errors.ts";
import { CommitInDoubt, isContention, isDatabaseAway, isDiskFull } from "./db-errors.ts";
import {
  callHook,
  createGroupCommit,
  type GroupCommitOptions,
  type Rows,
  type Unit,
} from "./group-commit.ts";
import { mysqlKnexConfig } from "./mysql-client.ts";
import type { Tx } from "./queryable.ts";
import { sqliteKnexConfig } from "./sqlite-client.ts";

export interface Database {
  /** For reading outside of transactions. On SQLite it refuses to write. */
  readonly read: Knex;
  /**
   * Runs `work` in a transaction and commits. Run again when another transaction was in the way or when the
   * connection was lost before the commit was sent, for five seconds; then it throws a 503 AppError whose
   * `cause` is the database's error. An error that `work` throws itself comes through as it is.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs a unit in a transaction that it shares with others; see group-commit.ts. */
  commit<T>(unit: Unit<T>): Promise<T>;
  /** SQL for the database's clock in epoch milliseconds. */
  readonly nowSql: string;
  /** Fails when the database cannot be written; takes at most five seconds. */
  ping(): Promise<void>;
  /** Things about the server that can lose data, one sentence each. */
  warnings(): Promise<string[]>;
  close(): Promise<void>;
  /** The connections that write; for migrations. */
  readonly writer: Knex;
  readonly engine: DatabaseConfig["engine"];
}

const patience = 5_000;

/** Called when the transaction they belong to is committed; see afterCommit. */
const commitHooks = new WeakMap<Tx, (() => void)[]>();

/**
 * Has `hook` called once the transaction is committed, and never when it, or the savepoint that `tx` may be,
 * is rolled back. What a hook throws becomes a warning of the process: the commit stands.
 */
export function afterCommit(tx: Tx, hook: () => void): void {
  let outermost = tx;
  let kept = true;
  while (outermost.parentTransaction) {
    outermost.executionPromise.catch(() => {
      kept = false;
    });
    outermost = outermost.parentTransaction;
  }
  const hooks = commitHooks.get(outermost) ?? [];
  commitHooks.set(outermost, hooks);
  hooks.push(() => {
    if (kept) hook();
  });
}

/** Opens the pools; the first statement connects. */
export function openDatabase(config: DatabaseConfig): Database {
  const { read, writer } = openPools(config);
  const nowSql =
    config.engine === "sqlite"
      ? "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
      : "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";

  const transaction = <T>(work: (tx: Tx) => Promise<T>) => transact(writer, work);
  return {
    read,
    writer,
    engine: config.engine,
    nowSql,
    transaction,
    commit: createLanes({
      transaction,
      insert: insertRows,
      exists: (table, id) => transaction((tx) => rowExists(tx, table, id)),
      size: 250,
    }),
    async ping() {
      await transact(writer, async (tx) => void (await tx.raw("SELECT 1")));
    },
    warnings: () => warningsOf(config, writer),
    async close() {
      // SQLite moves its log into the file when the last connection that may write is closed.
      if (read !== writer) await read.destroy();
      await writer.destroy();
    },
  };
}

/**
 * What callers wait for (plain rows) is not held up by what workers write (units with statements of their
 * own, which take a round trip each, and steps).
 */
function createLanes(options: GroupCommitOptions): Database["commit"] {
  const intake = createGroupCommit(options);
  const work = createGroupCommit(options);
  return (unit) => (unit.run || unit.steps ? work(unit) : intake(unit));
}

function openPools(config: DatabaseConfig): { read: Knex; writer: Knex } {
  if (config.engine === "mysql") {
    const pool = knexFactory(mysqlKnexConfig(config.url));
    return { read: pool, writer: pool };
  }
  mkdirSync(dirname(config.path), { recursive: true, mode: 0o700 });
  // One connection writes; a second one reads what is committed, so that no read waits for a transaction.
  return {
    writer: knexFactory(sqliteKnexConfig(config.path, false)),
    read: knexFactory(sqliteKnexConfig(config.path, true)),
  };
}

async function transact<T>(writer: Knex, work: (tx: Tx) => Promise<T>): Promise<T> {
  const deadline = performance.now() + patience;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(writer, work);
    } catch (error) {
      if (error instanceof CommitInDoubt) throw databaseAway(error);
      if (!isDatabaseAway(error) && !isContention(error)) throw error;
      if (performance.now() >= deadline) throw databaseAway(error);
      await sleep(Math.random() * Math.min(500, 10 * 2 ** attempt));
    }
  }
}

function databaseAway(cause: unknown): AppError {
  const message =
    cause instanceof CommitInDoubt
      ? "The database went away; look whether the change was made before you ask again."
      : "The database cannot be reached; try again shortly.";
  return Object.assign(unavailable(message, 2), { cause });
}

async function once<T>(writer: Knex, work: (tx: Tx) => Promise<T>): Promise<T> {
  let sent = false;
  let failure: { error: unknown } | undefined;
  let hooks: readonly (() => void)[] = [];
  const attempt = async (tx: Tx): Promise<T> => {
    // Knex calls this after a BEGIN that failed, too, and rejects with that failure.
    if (tx.isCompleted()) throw new Error("The transaction did not begin.");
    try {
      const value = await work(tx);
      hooks = commitHooks.get(tx) ?? [];
      sent = true;
      return value;
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  try {
    const result = await writer.transaction(attempt);
    for (const hook of hooks) callHook(hook);
    return result;
  } catch (error) {
    // Rolling back fails as well when the connection is gone; the first error tells why.
    if (failure) throw failure.error;
    if (sent && isDatabaseAway(error) && !isDiskFull(error))
      throw new CommitInDoubt("commit in doubt", { cause: error });
    throw error;
  }
}

/** The largest statement that is sent: values on SQLite are limited, bytes on MySQL (16 MiB on MariaDB). */
const maxValues = 20_000;
const maxTextLength = 2 * 1024 * 1024;

/** Both engines take this form, and it costs a tenth of building the same statement piece by piece. */
async function insertRows(
  tx: Tx,
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const marks = `(${columns.map(() => "?").join(",")})`;
  const names = columns.map((column) => `\`${column}\``).join(",");
  for (const chunk of chunksOf(rows, columns)) {
    const sql = `insert into \`${table}\` (${names}) values ${chunk.map(() => marks).join(",")}`;
    await tx.raw(sql, chunk.flat());
  }
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

function* chunksOf(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]) {
  let chunk: Knex.Value[][] = [];
  let length = 0;
  for (const row of rows) {
    const values = columns.map((column) => (row[column] ?? null) as Knex.Value);
    const added = values.reduce<number>((sum, value) => sum + lengthInStatement(value), 0);
    const full = (chunk.length + 1) * columns.length > maxValues || length + added > maxTextLength;
    if (full && chunk.length > 0) {
      yield chunk;
      chunk = [];
      length = 0;
    }
    chunk.push(values);
    length += added;
  }
  if (chunk.length > 0) yield chunk;
}

/** The driver for MySQL writes bytes as hexadecimal digits. */
function lengthInStatement(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.length * 2 : 0;
}

async function rowExists(tx: Tx, table: string, id: unknown): Promise<boolean> {
  return (
    (await tx(table)
      .where({ id: id as string })
      .first("id")) !== undefined
  );
}

async function warningsOf(config: DatabaseConfig, writer: Knex): Promise<string[]> {
  if (config.engine === "sqlite") return [];
  const [rows] = await writer.raw("SHOW VARIABLES LIKE 'innodb_flush_log_at_trx_commit'");
  const value = rows[0]?.Value;
  if (value === "1") return [];
  return [
    `innodb_flush_log_at_trx_commit is ${value}: what was acknowledged can be lost when the server stops; set it to 1.`,
  ];
}
