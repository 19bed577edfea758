import fc from "fast-check";
import { expect, it } from "vitest";
import { createSchedules } from "../../../src/automations/cron.ts";
import type { FireRow } from "../../../src/automations/fire-store.ts";
import { mostCounted } from "../../../src/automations/next-occurrence.ts";
import type { Database } from "../../../src/platform/db/index.ts";
import { setUpAutomations, type TestAutomations } from "../../support/automation-setup.ts";
import { databases, type Engine, freshDatabase } from "../../support/databases.ts";

const minute = 60_000;
const start = Date.parse("2026-03-28T22:00:00Z");

type Step =
  | { do: "create"; schedule: string; timezone: string; overlap: string }
  /** Moves the clock by so many minutes, also back, and has several processes sweep at a time. */
  | { do: "sweep"; minutes: number; sweepers: number }
  /** The same with a process that dies before its commit. */
  | { do: "crash"; minutes: number }
  | { do: "endRuns" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("create" as const),
    schedule: fc.constantFrom(
      "*/20 * * * *",
      "0 * * * *",
      "30 2 * * *",
      "*/30 1-3 * * *",
      "15 4 * * MON,SUN",
    ),
    timezone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York"),
    overlap: fc.constantFrom("skip", "queue", "allow"),
  }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("sweep" as const),
      minutes: fc.oneof(
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: -300, max: 900 }),
        fc.constant(1_440),
      ),
      sweepers: fc.integer({ min: 1, max: 3 }),
    }),
  },
  fc.record({ do: fc.constant("crash" as const), minutes: fc.integer({ min: 0, max: 200 }) }),
  fc.constant({ do: "endRuns" as const }),
);

/** Every transaction is undone at its end, as if the process had died before the commit. */
const dying = (db: Database): Database => ({
  ...db,
  transaction: (work) =>
    db.transaction(async (tx) => {
      await work(tx);
      throw new Error("This process dies before its commit.");
    }),
});

async function play(test: TestAutomations, steps: readonly Step[]): Promise<void> {
  for (const each of steps) {
    switch (each.do) {
      case "create": {
        const { do: _, ...wanted } = each;
        await test.create(wanted);
        break;
      }
      case "sweep":
        test.time.now += each.minutes * minute;
        await Promise.all(Array.from({ length: each.sweepers }, () => test.another().fireDue(test.time.now)));
        break;
      case "crash":
        test.time.now += each.minutes * minute;
        await test.another(dying(test.db)).fireDue(test.time.now);
        break;
      case "endRuns":
        await test.endRuns();
    }
  }
}

const schedules = createSchedules();

/** The occurrences of an automation that were due until now, in order. */
function expectedOf(row: { schedule: string; timezone: string; created_at: number; next_run_at: number }) {
  const schedule = schedules(row.schedule, row.timezone);
  const all: number[] = [];
  let next = schedule.nextAfter(row.created_at);
  for (; next !== undefined && next < row.next_run_at; next = schedule.nextAfter(next)) all.push(next);
  return { all, next };
}

/** Each occurrence before the next one has exactly one row, each fired row a run of its own, each run such a row. */
async function check({ db }: TestAutomations): Promise<void> {
  const automations = await db.read("automations");
  for (const row of automations) {
    const { all, next } = expectedOf(row);
    expect(next).toBe(row.next_run_at);
    const fires: FireRow[] = await db
      .read("schedule_fires")
      .where({ automation_id: row.id })
      .orderBy("scheduled_for");
    const explained = fires.flatMap((fire) => {
      const range = all.filter((at) => fire.first_scheduled_for <= at && at <= fire.scheduled_for);
      expect(Math.min(range.length, mostCounted), "a row stands for as many as it says").toBe(fire.count);
      return range;
    });
    expect(explained, "each occurrence is explained once").toEqual(all);
    const fired = fires.flatMap((fire) => (fire.outcome === "fired" ? fire.run_id : []));
    const runs: string[] = await db.read("runs").where({ automation_id: row.id }).pluck("id");
    expect(runs.sort()).toEqual(fired.sort());
  }
  const jobs = await db.read("jobs");
  expect(jobs.length).toBe((await db.read("runs")).length);
}

async function empty({ db, time }: TestAutomations): Promise<void> {
  time.now = start;
  await db.transaction(async (tx) => {
    for (const table of ["automations", "schedule_fires", "runs", "jobs"]) await tx(table).delete();
  });
}

const doses: Record<Engine, number> = { sqlite: 60, mysql: 30 };

it.each(databases())(
  "whatever clocks and processes do, no occurrence fires twice and each is explained, on %s",
  async (engine) => {
    const { db } = await freshDatabase(engine);
    const test = await setUpAutomations(db, { now: new Date(start).toISOString() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 18 }), async (steps) => {
        await empty(test);
        await play(test, [
          { do: "create", schedule: "0 * * * *", timezone: "UTC", overlap: "skip" },
          ...steps,
        ]);
        await check(test);
        // What a crash has left undone is done by the next sweep.
        await test.automations.fireDue(test.time.now);
        await check(test);
        const overdue = await db.read("automations").where("due_at", "<=", test.time.now);
        expect(overdue).toEqual([]);
      }),
      { numRuns: doses[engine] },
    );
  },
  60_000,
);
