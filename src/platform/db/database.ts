import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import knexFactory, { type Knex } from "knex";
import type { DatabaseConfig } from "../config.ts";
import { type AppError, unavailable } from "../errors.ts";
import { CommitInDoubt, isContention, isDatabaseAway, isDiskFull } from "./db-errors.ts";
import { callHook, createGroupCommit, type GroupCommitOptions, type Unit } from "./group-commit.ts";
import { createInsertAtOnce } from "./insert-at-once.ts";
import { type Insert, insertRows } from "./insert-rows.ts";
import { mysqlIntakeConfig, mysqlKnexConfig } from "./mysql-client.ts";
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
  const { read, writer, intake } = openPools(config);
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
    commit: createLanes(
      {
        transaction,
        insert: insertRows,
        exists: (table, id) => transaction((tx) => rowExists(tx, table, id)),
        size: 250,
      },
      intake && createInsertAtOnce(intake),
    ),
    async ping() {
      await transact(writer, async (tx) => void (await tx.raw("SELECT 1")));
    },
    warnings: () => warningsOf(config, writer),
    async close() {
      // SQLite moves its log into the file when the last connection that may write is closed.
      if (read !== writer) await read.destroy();
      await intake?.destroy();
      await writer.destroy();
    },
  };
}

/**
 * What callers wait for (plain rows) is not held up by what workers write (units with statements of their
 * own, which take a round trip each, and steps).
 */
function createLanes(
  options: GroupCommitOptions,
  insertAtOnce: ((inserts: readonly Insert[]) => Promise<void>) | undefined,
): Database["commit"] {
  const atOnce = insertAtOnce && ((inserts: readonly Insert[]) => patiently(() => insertAtOnce(inserts)));
  const intake = createGroupCommit({ ...options, ...(atOnce ? { insertAtOnce: atOnce } : {}) });
  const work = createGroupCommit(options);
  return (unit) => (unit.run || unit.steps ? work(unit) : intake(unit));
}

function openPools(config: DatabaseConfig): { read: Knex; writer: Knex; intake?: Knex } {
  if (config.engine === "mysql") {
    const pool = knexFactory(mysqlKnexConfig(config.url));
    return { read: pool, writer: pool, intake: knexFactory(mysqlIntakeConfig(config.url)) };
  }
  mkdirSync(dirname(config.path), { recursive: true, mode: 0o700 });
  // One connection writes; a second one reads what is committed, so that no read waits for a transaction.
  return {
    writer: knexFactory(sqliteKnexConfig(config.path, false)),
    read: knexFactory(sqliteKnexConfig(config.path, true)),
  };
}

const transact = <T>(writer: Knex, work: (tx: Tx) => Promise<T>) => patiently(() => once(writer, work));

/** Tries again while another transaction is in the way or the database is away, as far as nothing is in doubt. */
async function patiently<T>(once: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patience;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once();
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
