import type { Knex } from "knex";
import Mysql2Client from "knex/lib/dialects/mysql2/index.js";

interface RawConnection {
  __knex__disposed?: unknown;
  destroy(): void;
  query(sql: string, done: (error: Error | null) => void): void;
}

interface DriverFailure {
  code?: string;
  sql?: string;
}

/**
 * Knex's mysql2 dialect with a time limit on every statement. A connection whose peer has vanished without a
 * word would otherwise hold its caller for as long as the kernel keeps trying. The limit is above the wait for
 * a lock, which has an error of its own.
 */
export class TimedMysqlClient extends Mysql2Client {
  /** Milliseconds; 0 is no limit. */
  get statementTimeout(): number {
    return 5_500;
  }

  override async _query(connection: RawConnection, query: { options?: object }): Promise<unknown> {
    query.options = { timeout: this.statementTimeout, ...query.options };
    try {
      return await super._query(connection, query);
    } catch (error) {
      const failure = error as DriverFailure;
      // The driver adds the statement with its values, which belong in no log.
      delete failure.sql;
      if (failure.code === "PROTOCOL_SEQUENCE_TIMEOUT") {
        connection.__knex__disposed = error;
        connection.destroy();
      }
      throw error;
    }
  }
}

/** For migrations: a step on a large table takes longer than any statement of the service may. */
export class PatientMysqlClient extends TimedMysqlClient {
  override get statementTimeout(): number {
    return 0;
  }
}

/**
 * Session settings: each statement sees what is committed, nobody waits long for a lock, and the clock does
 * not jump where the server's time zone has a summer time.
 */
const session = [
  "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION innodb_lock_wait_timeout = 5, SESSION time_zone = '+00:00'",
];

/** Knex settings for a `mysql://` address. */
export function mysqlKnexConfig(url: string, client = TimedMysqlClient): Knex.Config {
  const address = new URL(url);
  return {
    client: client as unknown as typeof Knex.Client,
    // Messages of errors would otherwise hold the values of the statement.
    compileSqlOnError: false,
    connection: {
      host: address.hostname,
      port: Number(address.port || 3306),
      user: decodeURIComponent(address.username),
      password: decodeURIComponent(address.password),
      database: address.pathname.slice(1),
      charset: "utf8mb4",
      connectTimeout: 3_000,
      ...(isOn(address.searchParams.get("ssl")) ? { ssl: {} } : {}),
    },
    acquireConnectionTimeout: 5_000,
    pool: {
      min: 0,
      max: 12,
      propagateCreateError: true,
      createTimeoutMillis: 5_000,
      afterCreate(connection: RawConnection, done: (error: Error | null, connection: RawConnection) => void) {
        connection.query(session[0] ?? "", (first) => {
          if (first) done(first, connection);
          else connection.query(session[1] ?? "", (second) => done(second, connection));
        });
      },
    },
    // Knex prints every failed attempt to connect; callers report what matters.
    log: { warn() {}, error() {}, debug() {}, deprecate() {} },
  };
}

/** Settings of the one connection that takes several statements at a time; see insert-at-once.ts. */
export function mysqlIntakeConfig(url: string): Knex.Config {
  const { connection, pool, ...config } = mysqlKnexConfig(url);
  return {
    ...config,
    connection: { ...(connection as Knex.MySql2ConnectionConfig), multipleStatements: true },
    pool: { ...pool, max: 1 },
  };
}

/** `?ssl` and `?ssl=true` ask for TLS; `?ssl=false` and `?ssl=0` do not. */
function isOn(value: string | null): boolean {
  return value !== null && value !== "false" && value !== "0";
}
