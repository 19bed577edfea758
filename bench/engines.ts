import { randomBytes } from "node:crypto";
import { createConnection } from "mysql2/promise";
import { findMysqlServer, startMysqlServer } from "../test/support/mysql-server.ts";

export interface Engine {
  name: "SQLite" | "MySQL";
  /** A fresh database each time it is asked for. */
  fresh(): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

/** SQLite, and a private MySQL or MariaDB server when one is installed. */
export async function startEngines(): Promise<Engine[]> {
  const sqlite: Engine = { name: "SQLite", fresh: async () => ({}), stop: async () => {} };
  if (!findMysqlServer()) {
    process.stderr.write("MySQL is left out: no mariadbd or mysqld is installed.\n");
    return [sqlite];
  }
  const server = await startMysqlServer();
  return [
    sqlite,
    {
      name: "MySQL",
      async fresh() {
        const name = `bench_${randomBytes(6).toString("hex")}`;
        const connection = await createConnection(server.url);
        await connection.query(`CREATE DATABASE ${name}`);
        await connection.end();
        return { DATABASE_URL: new URL(`/${name}`, server.url).href };
      },
      stop: server.stop,
    },
  ];
}
