import { describe, expect, it } from "vitest";
import { setUpAutomations } from "../../support/automation-setup.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("schedules that are due on %s", (engine) => {
  const database = useDatabase(engine);
  const setUp = () => setUpAutomations(database.db, { now: "2026-03-02T08:30:00Z" });

  it("fire on time, with the owner as Run as, and step to the next occurrence of the schedule", async () => {
    const test = await setUp();
    const key = await test.addMember("olga", "operator");
    const made = await test.create({ message: "Morning" }, { key });
    expect(made).toMatchObject({ nextRunAt: "2026-03-02T09:00:00.000Z", owner: "olga", status: "enabled" });
    await test.fireAt("2026-03-02T08:59:59.999Z");
    expect(await test.fires(made.id)).toEqual([]);
    await test.fireAt("2026-03-02T09:00:00.004Z");
    const [run] = await test.runsOf(made.id);
    expect(run).toMatchObject({
      ...{ status: "queued", trigger: "schedule", run_as: "olga", message: "Morning", version: "draft" },
    });
    expect(await test.fires(made.id)).toEqual([
      {
        ...{ scheduledFor: "2026-03-02T09:00:00.000Z", outcome: "fired", count: 1 },
        ...{ runId: run.id, runAs: "olga", recordedAt: "2026-03-02T09:00:00.004Z" },
      },
    ]);
    expect(await test.find(made.id)).toMatchObject({
      ...{ nextRunAt: "2026-03-02T10:00:00.000Z", lastFireAt: "2026-03-02T09:00:00.004Z", lastRunId: run.id },
    });
    expect((await test.call("GET", `/runs/${run.id}`)).body.run).toMatchObject({
      ...{ trigger: "schedule", source: "Schedule", automationId: made.id, runAs: "olga" },
    });
    const jobs = await test.db.read("jobs");
    expect(jobs.map(({ payload }) => JSON.parse(payload))).toEqual([{ runId: run.id }]);
    await test.fireAt("2026-03-02T09:00:00.005Z");
    expect(await test.runsOf(made.id)).toHaveLength(1);
  });

  it("after a downtime: one run for the latest missed occurrence, one row for the others", async () => {
    const test = await setUp();
    const { id } = await test.create({ schedule: "*/15 * * * *" });
    await test.fireAt("2026-03-02T11:07:00Z");
    const [run, ...others] = await test.runsOf(id);
    expect(others).toEqual([]);
    expect(await test.fires(id)).toMatchObject([
      { scheduledFor: "2026-03-02T11:00:00.000Z", outcome: "fired", count: 1, runId: run.id },
      {
        ...{ outcome: "coalesced", count: 9, reason: expect.any(String) },
        ...{ firstScheduledFor: "2026-03-02T08:45:00.000Z", scheduledFor: "2026-03-02T10:45:00.000Z" },
      },
    ]);
    expect((await test.find(id)).nextRunAt).toBe("2026-03-02T11:15:00.000Z");
  });

  it("count at most a thousand of a long downtime, and still tell its range", async () => {
    const test = await setUp();
    const { id } = await test.create({ schedule: "* * * * *" });
    await test.fireAt("2026-03-09T08:30:30Z");
    expect((await test.fires(id))[1]).toMatchObject({
      ...{ outcome: "coalesced", count: 1_000 },
      ...{ firstScheduledFor: "2026-03-02T08:31:00.000Z", scheduledFor: "2026-03-09T08:29:00.000Z" },
    });
  });

  it("a clock that is set back fires nothing a second time, not even after the schedule was begun anew", async () => {
    const test = await setUp();
    const { id } = await test.create({ overlap: "allow", schedule: "*/10 * * * *" });
    await test.fireAt("2026-03-02T08:40:00Z");
    await test.fireAt("2026-03-02T09:10:00Z");
    const before = await test.fires(id);
    await test.fireAt("2026-03-02T08:35:00Z");
    expect((await test.find(id)).nextRunAt).toBe("2026-03-02T09:20:00.000Z");
    for (const enabled of [false, true])
      await test.call("PATCH", `/automations/${id}`, { body: { enabled } });
    expect((await test.find(id)).nextRunAt).toBe("2026-03-02T09:20:00.000Z");
    // As if the automations alone had come from a backup.
    const restored = Date.parse("2026-03-02T08:40:00Z");
    await test.db.transaction((tx) =>
      tx("automations").where({ id }).update({ next_run_at: restored, due_at: restored }),
    );
    for (const minute of ["08:40", "08:50", "09:00", "09:10"]) await test.fireAt(`2026-03-02T${minute}:00Z`);
    expect(await test.fires(id)).toEqual(before);
    expect(await test.runsOf(id)).toHaveLength(2);
    await test.fireAt("2026-03-02T09:20:00Z");
    expect(await test.runsOf(id)).toHaveLength(3);
  });

  it("changed by a process whose clock is behind, they go on after what was settled", async () => {
    const test = await setUp();
    const { id } = await test.create({ overlap: "allow", schedule: "*/10 * * * *" });
    await test.fireAt("2026-03-02T08:40:00Z");
    await test.fireAt("2026-03-02T08:50:00Z");
    test.time.now = Date.parse("2026-03-02T08:35:00Z");
    await test.call("PATCH", `/automations/${id}`, { body: { timezone: "Europe/Berlin" } });
    await test.fireAt("2026-03-02T09:20:00Z");
    expect(await test.fires(id)).toMatchObject([
      { outcome: "fired", scheduledFor: "2026-03-02T09:20:00.000Z" },
      { outcome: "coalesced", firstScheduledFor: "2026-03-02T09:00:00.000Z", count: 2 },
      { outcome: "fired", scheduledFor: "2026-03-02T08:50:00.000Z" },
      { outcome: "fired", scheduledFor: "2026-03-02T08:40:00.000Z" },
    ]);
  });

  it("overlap skip: a run that is under way is left alone", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.fireAt("2026-03-02T10:00:00Z");
    expect(await test.fires(id)).toMatchObject([{ outcome: "skipped_overlap" }, { outcome: "fired" }]);
    await test.endRuns();
    await test.fireAt("2026-03-02T11:00:00Z");
    expect((await test.fires(id)).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      ...["fired", "skipped_overlap", "fired"],
    ]);
  });

  it("overlap queue: one waits for the end of the run before, later ones are answered for by one run", async () => {
    const test = await setUp();
    const { id } = await test.create({ overlap: "queue" });
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.fireAt("2026-03-02T10:00:00Z");
    expect(await test.find(id)).toMatchObject({
      ...{
        nextRunAt: "2026-03-02T10:00:00.000Z",
        status: "enabled",
        statusReason: expect.stringMatching(/run/),
      },
    });
    expect(test.asked.at(-1)).toBe(Date.parse("2026-03-02T10:00:05Z"));
    await test.fireAt("2026-03-02T12:30:00Z");
    expect(await test.fires(id)).toHaveLength(1);
    await test.endRuns();
    await test.fireAt("2026-03-02T12:30:05Z");
    expect(await test.fires(id)).toMatchObject([
      { outcome: "fired", scheduledFor: "2026-03-02T12:00:00.000Z" },
      { outcome: "coalesced", count: 2, firstScheduledFor: "2026-03-02T10:00:00.000Z" },
      { outcome: "fired", scheduledFor: "2026-03-02T09:00:00.000Z" },
    ]);
    expect(await test.find(id)).toMatchObject({ nextRunAt: "2026-03-02T13:00:00.000Z", statusReason: null });
  });

  it("overlap allow: runs go on side by side", async () => {
    const test = await setUp();
    const { id } = await test.create({ overlap: "allow" });
    for (const hour of ["09", "10", "11"]) await test.fireAt(`2026-03-02T${hour}:00:00Z`);
    expect(await test.runsOf(id)).toHaveLength(3);
  });

  it("what is changed or paused while it is due gets a row that says so", async () => {
    const test = await setUp();
    const changed = await test.create();
    const paused = await test.create();
    test.time.now = Date.parse("2026-03-02T10:00:30Z");
    await test.call("PATCH", `/automations/${changed.id}`, { body: { schedule: "30 * * * *" } });
    await test.db.transaction((tx) =>
      test.ownership.release(tx, test.workspaceId, "admin", "admin has left."),
    );
    expect(await test.fires(changed.id)).toMatchObject([
      { outcome: "missed", count: 2, firstScheduledFor: "2026-03-02T09:00:00.000Z" },
    ]);
    expect(await test.fires(paused.id)).toMatchObject([{ outcome: "blocked", reason: "admin has left." }]);
    await test.fireAt("2026-03-02T12:00:00Z");
    expect(await test.runsOf(changed.id)).toEqual([]);
  });

  it("those of several workspaces and owners are settled by one sweep, also more than fit into a batch", async () => {
    const test = await setUp();
    const first = await test.create();
    const row = await test.db.read("automations").where({ id: first.id }).first();
    const more = Array.from({ length: 600 }, (_, n) => ({
      ...row,
      id: `aut_${String(n).padStart(26, "0")}`,
    }));
    await test.db.commit({ rows: more.map((each) => ({ table: "automations", row: each })) });
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.db.read("schedule_fires").where({ outcome: "fired" })).toHaveLength(601);
    expect(await test.db.read("runs")).toHaveLength(601);
    expect(await test.db.read("jobs")).toHaveLength(601);
    expect(new Set(await test.db.read("automations").pluck("last_run_id")).size).toBe(601);
  });
});
