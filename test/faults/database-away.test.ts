import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "../../src/platform/db/index.ts";
import { AppError } from "../../src/platform/errors.ts";
import { startCommitCutter } from "../support/commit-cutter.ts";
import { type TestDatabase, useDatabase } from "../support/databases.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";

const workspaceRow = (n: number | string) => ({
  table: "workspaces",
  row: { id: `wsp_${n}`, slug: `slug-${n}`, created_at: 1 },
});
const stored = async (db: Database) => (await db.read("workspaces").orderBy("id")).map((row) => row.id);

/** The same database by way of a proxy. */
function openThrough(
  proxy: { url(base: string): string; stop(): Promise<void> },
  { config }: TestDatabase,
): Database {
  if (config.engine !== "mysql") throw new Error("Only a server can be cut off.");
  const db = openDatabase({ engine: "mysql", url: proxy.url(config.url) });
  onTestFinished(async () => {
    await db.close();
    await proxy.stop();
  });
  return db;
}

const away = expect.objectContaining({ status: 503, headers: { "Retry-After": "2" } });

describe.skipIf(inject("mysqlUrl") === null)("a MySQL server that goes away", () => {
  const database = useDatabase("mysql");
  const server = () => inject("mysqlUrl") ?? "";

  it.each(["refuses", "is silent"])(
    "%s: all who wait are told so in time, and it works again afterwards",
    async (how) => {
      const proxy = await startFaultProxy(server());
      const db = openThrough(proxy, database);
      await db.ping();
      if (how === "refuses") proxy.refuse();
      else proxy.pause();

      const units = Array.from({ length: 600 }, (_, n) => db.commit({ rows: [workspaceRow(n)] }));
      const answers = await Promise.allSettled([
        db.transaction((tx) => tx("workspaces").insert(workspaceRow("single").row)),
        db.ping(),
        ...units,
      ]);
      for (const answer of answers) expect(answer).toEqual({ status: "rejected", reason: away });

      proxy.resume();
      await db.commit({ rows: [workspaceRow("after")] });
      expect(await stored(database.db)).toContain("wsp_after");
    },
    25_000,
  );

  it("a transaction whose connection is lost before the commit is run again", async () => {
    const proxy = await startFaultProxy(server());
    const db = openThrough(proxy, database);
    let tries = 0;
    await db.transaction(async (tx) => {
      await tx("workspaces").insert(workspaceRow(1).row);
      if (++tries === 1) proxy.dropAll();
      await tx("workspaces").insert(workspaceRow(2).row);
    });
    expect(tries).toBe(2);
    expect(await stored(database.db)).toEqual(["wsp_1", "wsp_2"]);
  });

  it("an error of the work itself comes through although the rollback finds no connection", async () => {
    const proxy = await startFaultProxy(server());
    const db = openThrough(proxy, database);
    const own = new Error("mine");
    let tries = 0;
    const failing = db.transaction(async (tx) => {
      tries++;
      await tx("workspaces").insert(workspaceRow(1).row);
      proxy.dropAll();
      throw own;
    });
    await expect(failing).rejects.toBe(own);
    expect(tries).toBe(1);
    expect(await stored(database.db)).toEqual([]);
  });

  describe.each(["request", "answer"] as const)("a commit whose %s is lost", (where) => {
    it("stores each unit of a group once and answers each caller with its result", async () => {
      const cutter = await startCommitCutter(server());
      const db = openThrough(cutter, database);
      await db.ping();
      cutter.cutNext(where);
      let hooks = 0;
      const unit = (n: number) =>
        db.commit({
          run: async () => n,
          rows: n === 3 ? [] : [workspaceRow(n)],
          committed: () => void hooks++,
        });
      expect(await Promise.all([1, 2, 3, 4].map(unit))).toEqual([1, 2, 3, 4]);
      expect(cutter.cuts).toBe(1);
      expect(hooks).toBe(4);
      expect(await stored(database.db)).toEqual(["wsp_1", "wsp_2", "wsp_4"]);
    });

    it("stores rows of several tables once, and answers each caller", async () => {
      const cutter = await startCommitCutter(server());
      const db = openThrough(cutter, database);
      await db.commit({ rows: [] });
      cutter.cutNext(where);
      const job = { kind: "k", payload: "1", state: "queued", run_at: 1, attempt: 0, created_at: 1 };
      const unit = (n: number) =>
        db.commit({ rows: [workspaceRow(n), { table: "jobs", row: { id: `job_${n}`, ...job } }] });
      await Promise.all([1, 2, 3].map(unit));
      expect(cutter.cuts).toBe(1);
      expect(await stored(database.db)).toEqual(["wsp_1", "wsp_2", "wsp_3"]);
      expect(await database.db.read("jobs").orderBy("id").pluck("id")).toEqual(["job_1", "job_2", "job_3"]);
    });

    it("is told to a caller for whom it cannot be found out", async () => {
      const cutter = await startCommitCutter(server());
      const db = openThrough(cutter, database);
      await db.commit({ rows: [workspaceRow(1)] });
      const doubt = /look whether the change was made/;
      cutter.cutNext(where);
      const error = await db
        .transaction((tx) => tx("workspaces").insert(workspaceRow(2).row))
        .catch((thrown) => thrown);
      expect(error).toBeInstanceOf(AppError);
      expect(error.message).toMatch(doubt);
      cutter.cutNext(where);
      const alone = db.commit({
        run: (tx) => tx("workspaces").where({ id: "wsp_1" }).increment("created_at", 1),
      });
      await expect(alone).rejects.toThrow(doubt);
      expect(cutter.cuts).toBe(2);
      const kept = where === "answer";
      expect(await stored(database.db)).toEqual(kept ? ["wsp_1", "wsp_2"] : ["wsp_1"]);
      expect((await database.db.read("workspaces").where({ id: "wsp_1" }).first()).created_at).toBe(
        kept ? 2 : 1,
      );
    });
  });
});
