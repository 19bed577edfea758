import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import type { DatabaseConfig } from "../../src/platform/config.ts";
import { type Database, migrate, openDatabase } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue } from "../../src/platform/jobs/index.ts";
import { type Script, startScript } from "../support/child-process.ts";
import { databases, freshDatabase } from "../support/databases.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { freezeProcess } from "../support/freeze-process.ts";
import { startMysqlServer } from "../support/mysql-server.ts";

const script = fileURLToPath(new URL("../support/worker-process.ts", import.meta.url));
const patience = { timeout: 40_000, interval: 25 };

async function startWorker(config: DatabaseConfig, concurrency = 10): Promise<Script> {
  const worker = startScript(script, {
    env: {
      DATABASE_URL: config.engine === "mysql" ? config.url : `sqlite:${config.path}`,
      ROLLCALL_SECRET_KEY: "a key that is only needed to start",
      ROLLCALL_CONCURRENCY: String(concurrency),
    },
  });
  await worker.waitForLine(/ready/);
  return worker;
}

async function makeEffects(db: Database): Promise<void> {
  // No key is unique here: an effect that happens twice shows.
  await db.writer.schema.createTable("effects", (table) => {
    table.integer("n").notNullable();
    table.integer("pid").notNullable();
  });
}

const jobRows = (db: Database, from: number, count: number, ms: (n: number) => number = () => 0) => {
  const queue = createJobQueue(db, createIds(), systemClock);
  return Array.from({ length: count }, (_, i) =>
    queue.row({ kind: "effect", payload: { n: from + i, ms: ms(from + i) } }),
  );
};

const effectCount = async (db: Database) => Number((await db.read("effects").count({ n: "*" }).first())?.n);

/** Every number below `count` has had its effect once, and no job is left. */
async function allDoneOnce(db: Database, count: number): Promise<void> {
  await vi.waitFor(async () => expect(await db.read("jobs").count({ n: "*" })).toEqual([{ n: 0 }]), patience);
  const done: number[] = await db.read("effects").orderBy("n").pluck("n");
  expect(done).toEqual(Array.from({ length: count }, (_, n) => n));
}

describe.each(databases())("worker processes on %s", (engine) => {
  it("race for the same jobs: each is done once and none is lost", async () => {
    const { db, config } = await freshDatabase(engine);
    await makeEffects(db);
    const count = engine === "mysql" ? 2_000 : 600;
    const workers = await Promise.all([1, 2, 3].map(() => startWorker(config, 40)));
    // They take long enough for everybody to have looked before nothing is left.
    await db.commit({ rows: jobRows(db, 0, count, () => 20) });
    await allDoneOnce(db, count);
    expect(await db.read("effects").distinct("pid")).toHaveLength(workers.length);
  }, 60_000);

  it("that are killed in the middle of jobs have them finished by others", async () => {
    const { db, config } = await freshDatabase(engine);
    await makeEffects(db);
    await db.commit({ rows: jobRows(db, 0, 240, (n) => 5 + ((n * 37) % 60)) });
    const workers = await Promise.all([1, 2].map(() => startWorker(config)));
    for (const done of [30, 90, 150]) {
      await vi.waitFor(async () => expect(await effectCount(db)).toBeGreaterThanOrEqual(done), {
        ...patience,
        interval: 5,
      });
      await workers.shift()?.kill("SIGKILL");
      workers.push(await startWorker(config));
    }
    await allDoneOnce(db, 240);
  }, 60_000);

  it("one that slept past its lease is refused the job that another one has done", async () => {
    const { db, config } = await freshDatabase(engine);
    await makeEffects(db);
    const sleeper = await startWorker(config);
    await db.commit({ rows: jobRows(db, 0, 1, () => 150) });
    await sleeper.waitForLine(/begun 0/);
    await freezeProcess(db, sleeper.pid);
    await startWorker(config);
    await vi.waitFor(async () => expect(await effectCount(db)).toBe(1), patience);
    process.kill(sleeper.pid, "SIGCONT");
    await sleeper.waitForLine(/lost/);
    await allDoneOnce(db, 1);
    expect(await db.read("effects").pluck("pid")).not.toContain(sleeper.pid);
  }, 60_000);

  it("SIGTERM hands back what is not finished and ends with 0", async () => {
    const { db, config } = await freshDatabase(engine);
    await makeEffects(db);
    const worker = await startWorker(config);
    await db.commit({ rows: jobRows(db, 0, 15, () => 60_000) });
    await worker.waitForLine(/begun 9/);
    expect(await worker.kill("SIGTERM"), worker.stderr()).toEqual({ code: 0, signal: null });
    const jobs = await db.read("jobs").where({ state: "queued" }).whereNull("claim");
    expect(jobs).toHaveLength(15);
    expect(await effectCount(db)).toBe(0);
  });
});

describe.skipIf(inject("mysqlUrl") === null)("worker processes whose MySQL server goes away", () => {
  it("for some seconds finish all jobs once", async () => {
    const { db, config } = await freshDatabase("mysql");
    if (config.engine !== "mysql") return;
    await makeEffects(db);
    const proxy = await startFaultProxy(config.url);
    onTestFinished(() => proxy.stop());
    await db.commit({ rows: jobRows(db, 0, 300, (n) => 20 + ((n * 37) % 60)) });
    const workers = [
      await startWorker({ engine: "mysql", url: proxy.url(config.url) }),
      await startWorker({ engine: "mysql", url: proxy.url(config.url) }),
    ];
    const away = [
      { done: 40, cut: () => proxy.refuse() },
      { done: 120, cut: () => proxy.pause() },
      { done: 200, cut: () => proxy.dropAll() },
    ];
    for (const { done, cut } of away) {
      await vi.waitFor(async () => expect(await effectCount(db)).toBeGreaterThanOrEqual(done), patience);
      cut();
      // Longer than a lease: what was held is taken over.
      await sleep(2_000);
      proxy.resume();
    }
    await allDoneOnce(db, 300);
    for (const worker of workers) expect((await worker.kill("SIGTERM")).code, worker.stderr()).toBe(0);
  }, 90_000);

  it("by being killed lose no job that was acknowledged and do none twice", async () => {
    const server = await startMysqlServer();
    onTestFinished(() => server.stop());
    const config: DatabaseConfig = { engine: "mysql", url: server.url };
    const db = openDatabase(config);
    onTestFinished(() => db.close());
    await migrate(db, config);
    await makeEffects(db);
    await startWorker(config, 40);
    const acknowledged: number[] = [];
    let asked = 0;
    let ends = false;
    const enqueuers = Array.from({ length: 8 }, async () => {
      while (!ends) {
        const n = asked++;
        await db.commit({ rows: jobRows(db, n, 1) }).then(
          () => acknowledged.push(n),
          () => {},
        );
      }
    });
    for (const count of [200, 600, 1_000]) {
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(count), patience);
      await server.restart();
    }
    await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(1_200), patience);
    ends = true;
    await Promise.all(enqueuers);
    await vi.waitFor(
      async () => expect(await db.read("jobs").count({ n: "*" })).toEqual([{ n: 0 }]),
      patience,
    );
    const done: number[] = await db.read("effects").pluck("n");
    expect(new Set(done).size).toBe(done.length);
    expect(acknowledged.filter((n) => !done.includes(n))).toEqual([]);
  }, 90_000);
});
