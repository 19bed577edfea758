import { describe, expect, it, onTestFinished } from "vitest";
import { createDispatches, dispatchEndpoints } from "../../../src/dispatches/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("the dispatch history on %s", (engine) => {
  const database = useDatabase(engine);

  async function setUp() {
    const { db } = database;
    const time = { now: Date.parse("2026-03-02T09:00:00Z") };
    const clock = () => time.now;
    const workspace = await setUpWorkspace(db, clock);
    const { workspaceId, redactor, access } = workspace;
    const dispatches = createDispatches({ db, ids: createIds(), clock, redactor });
    const api = await startApi(dispatchEndpoints(dispatches), { db, clock, ...access });
    onTestFinished(api.stop);
    const about = { workspaceId, kind: "schedule", ref: "aut_1" } as const;
    return {
      ...workspace,
      db,
      time,
      dispatches,
      about,
      failed: (...failures: Parameters<typeof dispatches.failed> extends [unknown, ...infer F] ? F : never) =>
        db.transaction((tx) => dispatches.failed(tx, ...failures)),
      async list(query = "", key = workspace.adminKey) {
        return (await api.call("GET", `/dispatches?${query}`, { key })).body;
      },
    };
  }

  it("has one row from the first failure to the recovery, which keeps failure time and attempt", async () => {
    const test = await setUp();
    const { about, time, db, dispatches } = test;
    await test.failed({ ...about, state: "retrying", nextAttemptAt: time.now + 30_000, summary: "Away." });
    time.now += 30_000;
    await test.failed({ ...about, state: "action_needed", summary: "Gone.", diagnostics: "404" });
    const [open, ...others] = (await test.list()).dispatches;
    expect(others).toEqual([]);
    expect(open).toEqual({
      ...{ id: expect.stringMatching(/^dsp_/), kind: "schedule", ref: "aut_1", state: "action_needed" },
      ...{ failedAt: "2026-03-02T09:00:30.000Z", attempt: 2, summary: "Gone.", diagnostics: "404" },
    });
    expect(await dispatches.open(["aut_1", "aut_2"])).toEqual(new Set(["aut_1"]));
    time.now += 30_000;
    await db.transaction((tx) => dispatches.recovered(tx, { ...about, runId: "run_1" }));
    await db.transaction((tx) => dispatches.recovered(tx, { ...about, runId: "run_2" }));
    expect((await test.list()).dispatches).toEqual([
      {
        ...open,
        ...{ state: "recovered", recoveredAt: "2026-03-02T09:01:00.000Z", recoveryRunId: "run_1" },
      },
    ]);
    expect(await dispatches.open(["aut_1"])).toEqual(new Set());
    await test.failed({ ...about, state: "action_needed", summary: "Again." });
    expect((await test.list()).dispatches).toMatchObject([
      { state: "action_needed", attempt: 1 },
      { state: "recovered", attempt: 2 },
    ]);
  });

  it("tells kinds and refs apart, also when many fail together and at a time", async () => {
    const test = await setUp();
    const { workspaceId } = test.about;
    const many = Array.from({ length: 450 }, (_, n) => ({
      ...{ workspaceId, ref: `ref_${n % 225}`, kind: n < 225 ? ("trigger" as const) : ("webhook" as const) },
      ...{ state: "action_needed" as const, summary: "No." },
    }));
    await test.failed(...many);
    await Promise.all([test.failed(...many), test.failed(...many)]);
    const rows = await test.db.read("dispatches");
    expect(rows).toHaveLength(450);
    expect(new Set(rows.map(({ attempt }) => attempt))).toEqual(new Set([3]));
  });

  it("is listed newest first, by state and kind, in pages", async () => {
    const test = await setUp();
    const { workspaceId } = test.about;
    for (const [kind, state] of [
      ["schedule", "retrying"],
      ["trigger", "action_needed"],
      ["webhook", "action_needed"],
    ] as const)
      await test.failed({ workspaceId, kind, ref: kind, state, summary: "No." });
    const kinds = async (query: string) =>
      (await test.list(query)).dispatches.map(({ kind }: { kind: string }) => kind);
    expect(await kinds("")).toEqual(["webhook", "trigger", "schedule"]);
    expect(await kinds("state=action_needed")).toEqual(["webhook", "trigger"]);
    expect(await kinds("state=action_needed&kind=trigger")).toEqual(["trigger"]);
    const { nextBefore } = await test.list("limit=2");
    expect(await kinds(`before=${nextBefore}`)).toEqual(["schedule"]);
    expect((await test.list("state=lost")).error).toEqual(expect.any(String));
  });

  it("shows diagnostics to admins alone, scrubbed and cut, and no secret to anybody", async () => {
    const test = await setUp();
    const secret = "hunter2-hunter2-hunter2";
    test.redactor.register(secret);
    const viewer = await test.addMember("vera", "viewer");
    const diagnostics = `${"x".repeat(1_990)}${secret}${"y".repeat(500)}`;
    await test.failed({ ...test.about, state: "action_needed", summary: `It said ${secret}.`, diagnostics });
    const [row] = await test.db.read("dispatches");
    expect(JSON.stringify(row)).not.toContain("hunter2");
    expect(row.diagnostics).toHaveLength(2_000);
    const [shown] = (await test.list("", viewer)).dispatches;
    expect(shown).toMatchObject({ summary: "It said [redacted]." });
    expect(shown).not.toHaveProperty("diagnostics");
  });

  it("follows the transaction it belongs to", async () => {
    const test = await setUp();
    const failing = test.db.transaction(async (tx) => {
      await test.dispatches.failed(tx, { ...test.about, state: "action_needed", summary: "No." });
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect((await test.list()).dispatches).toEqual([]);
  });

  it("forgets an open failure of what is deleted, and keeps what is over", async () => {
    const test = await setUp();
    const { about, db, dispatches } = test;
    await test.failed({ ...about, state: "action_needed", summary: "First." });
    await db.transaction((tx) => dispatches.recovered(tx, { ...about, runId: "run_1" }));
    await test.failed({ ...about, state: "action_needed", summary: "Second." });
    await db.transaction((tx) => dispatches.withdrawn(tx, about));
    expect((await test.list()).dispatches).toMatchObject([{ summary: "First.", state: "recovered" }]);
  });
});
