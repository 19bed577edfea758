import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { FireRow } from "../../src/automations/fire-store.ts";
import type { DatabaseConfig } from "../../src/platform/config.ts";
import type { Database } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { setUpAutomations, type TestAutomations } from "../support/automation-setup.ts";
import { type Script, startScript } from "../support/child-process.ts";
import { databases, freshDatabase } from "../support/databases.ts";

const processFile = fileURLToPath(new URL("../support/schedule-process.ts", import.meta.url));

const addressOf = (config: DatabaseConfig) =>
  config.engine === "mysql" ? config.url : `sqlite:${config.path}`;

async function startSweeper(config: DatabaseConfig, wrongMs = 0): Promise<Script> {
  const script = startScript(processFile, { args: [addressOf(config), String(wrongMs)] });
  await script.waitForLine(/sweeping/);
  return script;
}

/** Adds automations with one occurrence each, soon: the next one of their schedule is in January. */
async function addDue(test: TestAutomations, count: number, instantOf: (n: number) => number) {
  const ids = createIds();
  const { id } = await test.create({ schedule: "0 0 1 1 *" });
  const row = await test.db.read("automations").where({ id }).first();
  await test.db.transaction((tx) => tx("automations").where({ id }).delete());
  const rows = Array.from({ length: count }, (_, n) => {
    const due = { next_run_at: instantOf(n), due_at: instantOf(n) };
    return { table: "automations", row: { ...row, ...due, id: ids("aut") } };
  });
  await test.db.commit({ rows });
}

/** Settles when no automation is due before January. */
async function allSettled(db: Database, within = 25_000): Promise<void> {
  const deadline = performance.now() + within;
  const soon = Date.now() + 3_600_000;
  for (;;) {
    const left = await db.read("automations").where("due_at", "<", soon).pluck("id");
    if (left.length === 0) return;
    if (performance.now() > deadline) throw new Error(`${left.length} automations were not settled.`);
    await sleep(50);
  }
}

/** Each of so many occurrences has fired once, with a run and a job of its own. */
async function expectEachOnce(db: Database, count: number): Promise<void> {
  const fires: FireRow[] = await db.read("schedule_fires");
  expect(fires.map(({ outcome }) => outcome)).toEqual(Array.from({ length: count }, () => "fired"));
  expect(new Set(fires.map(({ automation_id }) => automation_id)).size).toBe(count);
  const runs: string[] = await db.read("runs").pluck("id");
  expect(runs.sort()).toEqual(fires.map(({ run_id }) => run_id).sort());
  const jobs: { payload: string }[] = await db.read("jobs");
  expect(jobs.map(({ payload }) => JSON.parse(payload).runId).sort()).toEqual(runs);
}

describe.each(databases())("several processes that sweep one database on %s", (engine) => {
  it("two of them fire 200 automations once each", async () => {
    const { db, config } = await freshDatabase(engine);
    const test = await setUpAutomations(db, { now: new Date().toISOString() });
    await Promise.all([startSweeper(config), startSweeper(config)]);
    const now = Date.now();
    // Some at one instant, the others one after the other.
    await addDue(test, 200, (n) => now + 300 + (n < 100 ? 0 : n * 4));
    await allSettled(db);
    await expectEachOnce(db, 200);
  });

  it("killed at random in the middle of it, with clocks that are wrong, they fire each once", async () => {
    const { db, config } = await freshDatabase(engine);
    const test = await setUpAutomations(db, { now: new Date().toISOString() });
    const wrong = [0, -400, 300];
    const sweepers = await Promise.all(wrong.map((ms) => startSweeper(config, ms)));
    const [rounds, each] = [5, 600];
    for (let round = 0; round < rounds; round++) {
      const now = Date.now();
      await addDue(test, each, (n) => now + (n % 30) * 15);
      await sleep(randomInt(0, 300));
      const index = randomInt(sweepers.length);
      await sweepers[index]?.kill("SIGKILL");
      sweepers[index] = await startSweeper(config, wrong[index]);
    }
    await allSettled(db);
    await expectEachOnce(db, rounds * each);
    for (const sweeper of sweepers) expect(sweeper.stderr()).toBe("");
  }, 60_000);
});
