import { describe, expect, it } from "vitest";
import { afterCommit, type Database, isUniqueViolation } from "../../../src/platform/db/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { gate } from "../../support/job-worker.ts";

const workspace = (n: number | string) => ({ id: `wsp_${n}`, slug: `slug-${n}`, created_at: 1 });
const slugs = async (db: Database) => (await db.read("workspaces").orderBy("id")).map((row) => row.slug);

describe.each(databases())("database on %s", (engine) => {
  const database = useDatabase(engine);

  it("commits what the work did, or nothing of it, and passes the work's own error on", async () => {
    const { db } = database;
    const kept = await db.transaction(async (tx) => {
      await tx("workspaces").insert(workspace(1));
      return "kept";
    });
    expect(kept).toBe("kept");
    const own = new Error("mine");
    const failing = db.transaction(async (tx) => {
      await tx("workspaces").insert(workspace(2));
      throw own;
    });
    await expect(failing).rejects.toBe(own);
    expect(await slugs(db)).toEqual(["slug-1"]);
  });

  it("calls hooks after the commit, in order, and a failing one changes nothing", async () => {
    const { db } = database;
    const warned = gate<Error>();
    process.once("warning", warned.resolve);
    const seen: unknown[] = [];
    let tries = 0;
    await db.transaction(async (tx) => {
      tries++;
      await tx("workspaces").insert(workspace(1));
      afterCommit(tx, () => seen.push("first"));
      afterCommit(tx, () => {
        throw new Error("hook failed");
      });
      afterCommit(tx, () => seen.push("last"));
    });
    expect(seen).toEqual(["first", "last"]);
    expect(tries).toBe(1);
    expect(await slugs(db)).toEqual(["slug-1"]);
    expect((await warned.promise).message).toBe("hook failed");
  });

  it("tells which unique key was held, whatever columns the statement names", async () => {
    const { db } = database;
    const key = { workspace_id: "wsp_1", member: "m", name: "n", preview: "p", enabled: 1, created_at: 1 };
    await db.transaction(async (tx) => {
      await tx("workspaces").insert(workspace(1));
      await tx("api_keys").insert({ ...key, id: "key_1", hash: "h1" });
    });
    const failure = async (row: object) =>
      db.transaction((tx) => tx("api_keys").insert({ ...key, ...row })).catch((error) => error);
    const sameHash = await failure({ id: "key_2", hash: "h1" });
    expect([isUniqueViolation(sameHash), isUniqueViolation(sameHash, "hash")]).toEqual([true, true]);
    const sameId = await failure({ id: "key_1", hash: "h2" });
    expect([isUniqueViolation(sameId), isUniqueViolation(sameId, "hash")]).toEqual([true, false]);
    const noWorkspace = await failure({ id: "key_3", hash: "h3", workspace_id: "wsp_none" });
    expect(noWorkspace).toBeInstanceOf(Error);
    expect(isUniqueViolation(noWorkspace)).toBe(false);
  });

  it("keeps values out of error messages and properties", async () => {
    const { db } = database;
    const secret = "tr0ub4dor-and-3";
    const error = await db
      .transaction((tx) => tx("workspaces").insert({ id: secret, slug: secret }))
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain(secret);
  });

  it("has a clock in epoch milliseconds that is this machine's", async () => {
    const { db } = database;
    const before = Date.now();
    const result = await db.read.raw(`SELECT ${db.nowSql} AS now`);
    const now = (engine === "mysql" ? result[0] : result)[0].now;
    expect(Number.isInteger(now)).toBe(true);
    expect(now).toBeGreaterThanOrEqual(before - 5);
    expect(now).toBeLessThanOrEqual(Date.now() + 5);
  });

  it("answers a ping and has no warnings for a server that keeps what it acknowledges", async () => {
    await database.db.ping();
    expect(await database.db.warnings()).toEqual([]);
  });
});

describe.runIf(databases().includes("mysql"))("database on a MySQL server", () => {
  const database = useDatabase("mysql");

  it("runs a transaction again that lost a deadlock", async () => {
    const { db } = database;
    await db.transaction((tx) => tx("workspaces").insert([workspace(1), workspace(2)]));
    const locked = [gate(), gate()];
    let tries = 0;
    const swap = (mine: number, theirs: number) =>
      db.transaction(async (tx) => {
        tries++;
        await tx("workspaces")
          .where({ id: `wsp_${mine}` })
          .increment("created_at", 1);
        locked[mine - 1]?.resolve();
        await locked[theirs - 1]?.promise;
        await tx("workspaces")
          .where({ id: `wsp_${theirs}` })
          .increment("created_at", 1);
      });
    await Promise.all([swap(1, 2), swap(2, 1)]);
    expect(tries).toBe(3);
    expect((await db.read("workspaces").orderBy("id")).map((row) => row.created_at)).toEqual([3, 3]);
  });

  it("reads what is committed, and its clock knows no summer time", async () => {
    const [rows] = await database.db.read
      .raw("SELECT @@transaction_isolation AS isolation, @@time_zone AS zone")
      .catch(() => database.db.read.raw("SELECT @@tx_isolation AS isolation, @@time_zone AS zone"));
    expect(rows).toEqual([{ isolation: "READ-COMMITTED", zone: "+00:00" }]);
  });
});

describe("database on SQLite", () => {
  const database = useDatabase("sqlite");

  it("refuses to write on the connection for reading", async () => {
    await expect(database.db.read("workspaces").insert(workspace(1))).rejects.toThrow(/readonly|read-only/i);
    expect(await slugs(database.db)).toEqual([]);
  });

  it("goes on after a commit that failed", async () => {
    const { db } = database;
    const failing = db.transaction(async (tx) => {
      await tx.raw("PRAGMA defer_foreign_keys = ON");
      await tx("members").insert({ workspace_id: "wsp_none", login: "a", role: "viewer", created_at: 1 });
    });
    await expect(failing).rejects.toThrow(/FOREIGN KEY/);
    await db.transaction((tx) => tx("workspaces").insert(workspace(1)));
    expect(await db.read("members")).toEqual([]);
    expect(await slugs(db)).toEqual(["slug-1"]);
  });

  it("flushes every commit", async () => {
    expect(await database.db.writer.raw("PRAGMA synchronous")).toEqual([{ synchronous: 2 }]);
    expect(await database.db.writer.raw("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  });
});
