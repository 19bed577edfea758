import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Knex } from "knex";
import BetterSqliteClient from "knex/lib/dialects/better-sqlite3/index.js";

interface Connection {
  db: DatabaseSync;
  statements: Map<string, StatementSync>;
}

interface Query {
  sql: string;
  bindings?: readonly unknown[];
  response?: unknown;
  context?: unknown;
}

/** Prepared statements kept for each connection; multi-row inserts of many lengths would fill memory otherwise. */
const statementLimit = 300;

/**
 * Waiting for another process's transaction blocks this whole process, so it is short; milliseconds. Those
 * who write come back for more, see database.ts.
 */
export const busyTimeout = 250;

/**
 * Knex's SQLite dialect on Node's built-in driver, so that no native module has to be built. Transactions
 * begin IMMEDIATE: a deferred one that turns into a writer fails at once when another process has written.
 */
export class NodeSqliteClient extends BetterSqliteClient {
  // Knex's types leave out the settings that its clients are given.
  declare connectionSettings: { filename: string; readOnly?: boolean; pragmas: readonly string[] };

  _driver(): typeof DatabaseSync {
    return DatabaseSync;
  }

  /** SQLite has no locks on rows: whoever may write has the database to itself and finds none that is locked. */
  override queryCompiler(...builder: unknown[]) {
    return Object.assign(super.queryCompiler(...builder), { skipLocked: () => "" });
  }

  async acquireRawConnection(): Promise<Connection> {
    const { filename, readOnly = false, pragmas } = this.connectionSettings;
    const db = new DatabaseSync(filename, { readOnly, timeout: busyTimeout });
    for (const pragma of pragmas) db.exec(`PRAGMA ${pragma}`);
    return { db, statements: new Map() };
  }

  async destroyRawConnection(connection: Connection): Promise<void> {
    connection.db.close();
  }

  async _query(connection: Connection, query: Query): Promise<Query> {
    // On a full disk SQLite rolls back by itself; Knex's rollback would fail and hide why.
    if (query.sql.startsWith("ROLLBACK") && !connection.db.isTransaction) return query;
    if (query.sql === "COMMIT;") return this.commit(connection, query);
    return this.execute(connection, query);
  }

  /** A commit that fails may leave its transaction open, and the next one could not begin. */
  commit(connection: Connection, query: Query): Query {
    try {
      return this.execute(connection, query);
    } catch (error) {
      if (connection.db.isTransaction) connection.db.exec("ROLLBACK");
      throw error;
    }
  }

  execute(connection: Connection, query: Query): Query {
    const statement = prepare(connection, query.sql === "BEGIN;" ? "BEGIN IMMEDIATE;" : query.sql);
    const bindings = (query.bindings ?? []).map(toBinding);
    if (statement.columns().length > 0) {
      query.response = statement.all(...bindings);
    } else {
      const { changes, lastInsertRowid } = statement.run(...bindings);
      query.response = { changes, lastInsertRowid };
      query.context = { changes, lastID: lastInsertRowid };
    }
    return query;
  }
}

function prepare({ db, statements }: Connection, sql: string): StatementSync {
  const known = statements.get(sql);
  if (known) return known;
  const statement = db.prepare(sql);
  // DDL would leave the kept statements behind the schema; only what can repeat is kept.
  if (/^(select|insert|update|delete|begin|commit)/i.test(sql)) {
    if (statements.size >= statementLimit) {
      const [oldest] = statements.keys();
      if (oldest !== undefined) statements.delete(oldest);
    }
    statements.set(sql, statement);
  }
  return statement;
}

function toBinding(value: unknown): SQLInputValue {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  // Only Knex's own table of migrations holds dates.
  if (value instanceof Date) return value.getTime();
  return value as SQLInputValue;
}

/** Knex settings for a SQLite file. */
export function sqliteKnexConfig(filename: string, readOnly: boolean): Knex.Config {
  const pragmas = readOnly
    ? ["query_only = ON"]
    : // FULL makes a commit survive a power cut, not just the end of the process.
      ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 2000"];
  return {
    client: NodeSqliteClient as unknown as typeof Knex.Client,
    connection: { filename, readOnly, pragmas } as unknown as Knex.StaticConnectionConfig,
    useNullAsDefault: true,
    compileSqlOnError: false,
    acquireConnectionTimeout: 5_000,
    pool: { min: 0, max: 1, idleTimeoutMillis: 2 ** 31 - 1 },
  };
}
