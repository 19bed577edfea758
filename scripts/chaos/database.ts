import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";
import { findMysqlServer, startMysqlServer } from "../../test/support/mysql-server.ts";
import { type Clocks, forgetFakeTime } from "./clocks.ts";

export interface ChaosDatabase {
  /** For the services. */
  readonly url: string;
  /** Whether its clock is one of the run's clocks. */
  readonly followsClocks: boolean;
  query<T>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /** Ends connections of the services, each with the chance that `some` gives it. Answers how many. */
  cut(some: () => boolean): Promise<number>;
  stop(): Promise<void>;
}

/** The database server's name among the clocks. */
const clockName = "database";

/**
 * A new database, on the server that `given` names or on one that is started for it, with one of `clocks`. `stop` drops
 * the one and ends the other.
 */
export async function openChaosDatabase(
  given: string | undefined,
  clocks: Clocks,
  directory: string,
): Promise<ChaosDatabase> {
  const server = given === undefined ? await startServer(clocks, directory) : undefined;
  const address = given ?? server?.url ?? "";
  process.once("exit", () => forgetFakeTime(server?.pid));
  const name = `rollcall_chaos_${randomBytes(6).toString("hex")}`;
  const connection = await createConnection(address);
  await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
  await connection.query(`USE ${name}`);
  const query = async <T>(sql: string, values: readonly unknown[] = []) =>
    (await connection.query<RowDataPacket[]>(sql, [...values]))[0] as T[];
  const [row] = await query<{ shown: number }>("SELECT ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS shown");
  clocks.follow(Number(row?.shown), Date.now());
  return {
    url: new URL(`/${name}`, address).href,
    followsClocks: server !== undefined,
    query,
    cut: (some) => cut(connection, name, some),
    async stop() {
      await connection.query(`DROP DATABASE ${name}`);
      await connection.end();
      await server?.stop();
    },
  };
}

async function cut(connection: Connection, name: string, some: () => boolean): Promise<number> {
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID() ORDER BY id",
    [name],
  );
  const chosen = rows.filter(some);
  // One that has ended by itself meanwhile is no longer known.
  for (const { id } of chosen) await connection.query(`KILL CONNECTION ${Number(id)}`).catch(() => {});
  return chosen.length;
}

/** The support of the tests starts the first server program on the path: here one that gets a clock of its own. */
async function startServer(clocks: Clocks, directory: string) {
  const program = findMysqlServer();
  if (program === null) throw new Error("Install mariadb-server, or name a MySQL server with DATABASE_URL.");
  const settings = Object.entries(clocks.env(clockName)).map(([key, value]) => `${key}='${value}'`);
  const wrapper = join(directory, "mariadbd");
  writeFileSync(wrapper, `#!/bin/sh\n${settings.join(" ")} exec '${program}' "$@"\n`);
  chmodSync(wrapper, 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${directory}:${path}`;
  try {
    return await startMysqlServer();
  } finally {
    process.env.PATH = path;
  }
}
