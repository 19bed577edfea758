import { existsSync } from "node:fs";
import { createConnection } from "mysql2/promise";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { answers, findMysqlServer, startMysqlServer } from "../support/mysql-server.ts";

beforeEach(({ skip }) => {
  skip(findMysqlServer() === null, "no mariadbd or mysqld is installed; install mariadb-server");
});

async function query(url: string, sql: string): Promise<unknown> {
  const connection = await createConnection(url);
  try {
    return (await connection.query(sql))[0];
  } finally {
    await connection.end();
  }
}

test("what was committed is there again after the server was killed", async () => {
  const server = await startMysqlServer();
  onTestFinished(server.stop);
  await query(server.url, "CREATE TABLE kept (n INT PRIMARY KEY)");
  await query(server.url, "INSERT INTO kept VALUES (1), (2)");
  const firstPid = server.pid;

  await server.kill();
  expect(await answers(server.url)).toBe(false);

  await server.restart();
  expect(server.pid).not.toBe(firstPid);
  expect(await query(server.url, "SELECT n FROM kept ORDER BY n")).toEqual([{ n: 1 }, { n: 2 }]);
});

test("it flushes every commit, listens on loopback only and lets tests make databases", async () => {
  const server = await startMysqlServer();
  onTestFinished(server.stop);
  const sql =
    "SELECT @@innodb_flush_log_at_trx_commit AS flush, @@bind_address AS address, @@datadir AS datadir";
  expect(await query(server.url, sql)).toMatchObject([{ flush: 1, address: "127.0.0.1" }]);
  await query(server.url, "CREATE DATABASE another");
  const other = Object.assign(new URL(server.url), { pathname: "/another" }).href;
  expect(await query(other, "SELECT DATABASE() AS name")).toEqual([{ name: "another" }]);
});

test("nothing of it is left after stop", async () => {
  const server = await startMysqlServer();
  onTestFinished(server.stop);
  const [row] = (await query(server.url, "SELECT @@tmpdir AS directory")) as { directory: string }[];
  expect(existsSync(String(row?.directory))).toBe(true);
  await server.stop();
  expect(existsSync(String(row?.directory))).toBe(false);
  expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
});
