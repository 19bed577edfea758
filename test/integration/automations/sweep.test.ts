import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Database } from "../../../src/platform/db/index.ts";
import { unavailable } from "../../../src/platform/errors.ts";
import { setUpAutomations } from "../../support/automation-setup.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("sweeps on %s", (engine) => {
  const database = useDatabase(engine);
  const setUp = () => setUpAutomations(database.db, { now: "2026-03-02T08:30:00Z" });

  /** Settles when there are so many runs. */
  async function runsBecome(count: number): Promise<void> {
    const deadline = performance.now() + 10_000;
    while ((await database.db.read("runs").pluck("id")).length < count) {
      if (performance.now() > deadline) throw new Error("The runs did not come.");
      await sleep(10);
    }
  }

  it("begin with the start of a process, and with each waking up", async () => {
    const test = await setUp();
    await test.create({ overlap: "allow" });
    test.time.now = Date.parse("2026-03-02T09:00:00Z");
    const stop = test.automations.start();
    onTestFinished(stop);
    await runsBecome(1);
    test.time.now = Date.parse("2026-03-02T10:00:00Z");
    await Promise.all([test.automations.wake(), test.automations.wake()]);
    expect(await test.db.read("runs").pluck("id")).toHaveLength(2);
    await stop();
    test.time.now = Date.parse("2026-03-02T11:00:00Z");
    await test.automations.wake();
    expect(await test.db.read("runs").pluck("id")).toHaveLength(2);
  });

  it("are tried again soon when the database was away", async () => {
    const test = await setUp();
    await test.create();
    test.time.now = Date.parse("2026-03-02T09:00:00Z");
    let failures = 1;
    const flaky: Database = {
      ...test.db,
      transaction: async (work) => {
        if (failures-- > 0) throw unavailable("The database is away for a test.");
        return test.db.transaction(work);
      },
    };
    await test.another(flaky).wake();
    expect(await test.db.read("runs")).toEqual([]);
    await runsBecome(1);
    expect(test.lines.join("\n")).toContain("due automations could not be looked at");
  });

  it("one automation that cannot be settled does not keep the others from it", async () => {
    const test = await setUp();
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push((await test.create()).id);
    const poison = ids[2];
    const poisoned: Database = {
      ...test.db,
      transaction: (work) =>
        test.db.transaction(async (tx) => {
          const value = await work(tx);
          const row = await tx("schedule_fires").where({ automation_id: poison }).first();
          if (row) throw new Error("No room for this one.");
          return value;
        }),
    };
    test.time.now = Date.parse("2026-03-02T09:00:00Z");
    await test.another(poisoned).fireDue(test.time.now);
    const fired = await test.db.read("schedule_fires").pluck("automation_id");
    expect(fired.sort()).toEqual(ids.filter((id) => id !== poison));
    await test.automations.fireDue(test.time.now);
    expect(await test.runsOf(poison)).toHaveLength(1);
  });

  it("pass by what another process has locked", async () => {
    const test = await setUp();
    const [first, second] = [await test.create(), await test.create()];
    test.time.now = Date.parse("2026-03-02T09:00:00Z");
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holder = test.db.transaction(async (tx) => {
      await tx("automations").where({ id: first.id }).forUpdate().first();
      held.resolve();
      await release.promise;
    });
    await held.promise;
    const sweep = test.automations.fireDue(test.time.now);
    // SQLite has one writer: there the sweep waits for it instead.
    if (engine === "mysql") {
      await sweep;
      expect(await test.runsOf(first.id)).toEqual([]);
      expect(await test.runsOf(second.id)).toHaveLength(1);
    }
    release.resolve();
    await Promise.all([holder, sweep]);
    await test.automations.fireDue(test.time.now);
    for (const { id } of [first, second]) expect(await test.runsOf(id)).toHaveLength(1);
  });
});
