import { describe, expect, it } from "vitest";
import { setUpAutomations } from "../../support/automation-setup.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentFiles } from "../../support/run-requests.ts";

const files = { ...agentFiles({ echo: {}, other: {} }), "agents/ai-sdk/broken.json": '{"name": "broken"}' };

describe.each(databases())("automations over HTTP on %s", (engine) => {
  const database = useDatabase(engine);
  const setUp = () => setUpAutomations(database.db, { now: "2026-03-02T08:30:00Z", files });

  it("are made with defaults, read, listed, changed and deleted", async () => {
    const test = await setUp();
    const made = await test.call("POST", "/automations", { body: { agent: "echo", schedule: "0  9 * * *" } });
    expect(made.status).toBe(201);
    const { automation } = made.body;
    expect(automation).toEqual({
      ...{ id: expect.stringMatching(/^aut_/), agent: "echo", schedule: "0 9 * * *", timezone: "UTC" },
      ...{ message: "", owner: "admin", targetVersion: "draft", enabled: true, status: "enabled" },
      ...{ statusReason: null, overlap: "skip", nextRunAt: "2026-03-02T09:00:00.000Z" },
      ...{ lastFireAt: null, lastRunId: null },
      ...{ createdAt: "2026-03-02T08:30:00.000Z", updatedAt: "2026-03-02T08:30:00.000Z" },
    });
    const path = `/automations/${automation.id}`;
    expect((await test.call("GET", path)).body).toEqual({ automation });
    test.time.now = Date.parse("2026-03-02T10:00:00Z");
    const changed = await test.call("PATCH", path, {
      body: { timezone: "Europe/Berlin", message: "Hi", overlap: "queue", agent: "other" },
    });
    expect(changed.body.automation).toMatchObject({
      ...{ nextRunAt: "2026-03-03T08:00:00.000Z", message: "Hi", overlap: "queue", agent: "other" },
      ...{ updatedAt: "2026-03-02T10:00:00.000Z" },
    });
    const off = await test.call("PATCH", path, { body: { enabled: false } });
    expect(off.body.automation).toMatchObject({ enabled: false, status: "disabled", nextRunAt: null });
    const audit = await test.db.read("audit_log").whereIn("action", ["createAutomation", "changeAutomation"]);
    expect(audit).toHaveLength(3);
    const deleted = await test.call("DELETE", path);
    expect([deleted.status, (await test.call("GET", path)).status]).toEqual([204, 404]);
    expect((await test.call("GET", `${path}/fires`)).status).toBe(404);
  });

  it("are listed newest first in pages, by agent and by status", async () => {
    const test = await setUp();
    const ids: string[] = [];
    for (const agent of ["echo", "other", "echo"]) ids.unshift((await test.create({ agent })).id);
    await test.call("PATCH", `/automations/${ids[0]}`, { body: { enabled: false } });
    const list = async (query: string) => {
      const { body } = await test.call("GET", `/automations?${query}`);
      return [body.automations.map(({ id }: { id: string }) => id), body.nextBefore];
    };
    expect(await list("")).toEqual([ids, null]);
    expect(await list("limit=2")).toEqual([ids.slice(0, 2), ids[1]]);
    expect(await list(`limit=2&before=${ids[1]}`)).toEqual([ids.slice(2), null]);
    expect(await list("agent=other")).toEqual([[ids[1]], null]);
    expect(await list("status=enabled")).toEqual([ids.slice(1), null]);
    expect(await list("status=disabled&agent=echo")).toEqual([[ids[0]], null]);
    for (const status of ["paused", "Error"]) expect(await list(`status=${status}`)).toEqual([[], null]);
    expect((await test.call("GET", "/automations?status=broken")).status).toBe(400);
  });

  it.each([
    [400, { schedule: "0 9 * *" }, "schedule"],
    [400, { schedule: "0 9 * * * *" }, "schedule"],
    [400, { schedule: `${"0,".repeat(80)}0 * * * *` }, "schedule"],
    [400, { timezone: "Mars/Olympus" }, "timezone"],
    [400, { timezone: "+05:30" }, "timezone"],
    [400, { overlap: "cancel" }, "overlap"],
    [400, { cron: "0 9 * * *" }, "cron"],
    [422, { schedule: "0 0 31 2 *" }],
    [404, { agent: "nobody" }],
    [422, { agent: "broken" }],
    [422, { targetVersion: "stable" }],
    [422, { owner: "nobody" }],
    [422, { owner: "vera" }],
  ])("are refused with %i for %j, and changes likewise", async (status, wrong, field?: string) => {
    const test = await setUp();
    await test.addMember("vera", "viewer");
    const body = { agent: "echo", schedule: "0 * * * *", ...wrong };
    const { id } = await test.create();
    for (const answer of [
      await test.call("POST", "/automations", { body }),
      await test.call("PATCH", `/automations/${id}`, { body: wrong }),
    ]) {
      expect(answer.status).toBe(status);
      if (field !== undefined)
        expect(answer.body.details).toContainEqual({ path: field, message: expect.any(String) });
    }
    expect((await test.call("GET", "/automations")).body.automations).toHaveLength(1);
  });

  it("belong to their owner: others read them, admins do everything", async () => {
    const test = await setUp();
    const [olga, paul, vera] = [
      await test.addMember("olga", "operator"),
      await test.addMember("paul", "operator"),
      await test.addMember("vera", "viewer"),
    ];
    const { id } = await test.create({}, { key: olga });
    const path = `/automations/${id}`;
    const status = async (method: string, at: string, key: string, body?: object) =>
      (await test.call(method, at, { key, ...(body ? { body } : {}) })).status;
    const wanted = { agent: "echo", schedule: "@daily" };
    expect(await status("POST", "/automations", vera, wanted)).toBe(403);
    expect(await status("POST", "/automations", olga, { ...wanted, owner: "paul" })).toBe(403);
    for (const key of [paul, vera]) {
      expect(await status("GET", path, key)).toBe(200);
      expect(await status("PATCH", path, key, { message: "x" })).toBe(403);
      expect(await status("POST", `${path}/run`, key)).toBe(403);
      expect(await status("DELETE", path, key)).toBe(403);
    }
    expect(await status("PATCH", path, olga, { owner: "paul" })).toBe(403);
    expect(await status("PATCH", path, olga, { owner: "olga", message: "x" })).toBe(200);
    const given = await test.call("PATCH", path, { body: { owner: "paul" } });
    expect(given.body.automation.owner).toBe("paul");
    expect(await status("PATCH", path, olga, { message: "y" })).toBe(403);
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.runsOf(id)).toMatchObject([{ run_as: "paul" }]);
    const queued = await test.call("POST", `${path}/run`);
    expect(queued.status).toBe(202);
    expect((await test.call("GET", `/runs/${queued.body.run_id}`)).body.run).toMatchObject({
      ...{ runAs: "paul", automationId: id, trigger: "api", message: "x" },
    });
    expect((await test.call("GET", `${path}/fires`)).body.fires).toHaveLength(1);
  });

  it("made by a repeated request are made once", async () => {
    const test = await setUp();
    const request = {
      headers: { "Idempotency-Key": "one" },
      body: { agent: "echo", schedule: "@hourly" },
    };
    const [first, second] = [
      await test.call("POST", "/automations", request),
      await test.call("POST", "/automations", request),
    ];
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await test.call("GET", "/automations")).body.automations).toHaveLength(1);
  });

  it("preview the next ten occurrences with the zone's offset; the address is no automation's", async () => {
    const test = await setUp();
    const query = `schedule=${encodeURIComponent("30 2 * * *")}&timezone=America/New_York`;
    const { status, body } = await test.call("GET", `/automations/preview?${query}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ schedule: "30 2 * * *", timezone: "America/New_York" });
    expect(body.next).toHaveLength(10);
    expect(body.next.slice(4, 7)).toEqual([
      ...["2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"],
    ]);
    const refused = async (text: string) =>
      (await test.call("GET", `/automations/preview?schedule=${encodeURIComponent(text)}`)).status;
    expect([await refused("0 9 * *"), await refused("0 0 31 2 *")]).toEqual([400, 422]);
    expect((await test.call("GET", "/automations/preview")).status).toBe(400);
  });

  it("show the ledger in pages, latest first", async () => {
    const test = await setUp();
    const { id } = await test.create({ overlap: "allow" });
    for (const hour of ["09", "10", "11"]) await test.fireAt(`2026-03-02T${hour}:00:00Z`);
    const page = async (query: string) => (await test.call("GET", `/automations/${id}/fires?${query}`)).body;
    const first = await page("limit=2");
    const hours = ({ fires }: { fires: { scheduledFor: string }[] }) =>
      fires.map(({ scheduledFor }) => scheduledFor.slice(11, 13));
    expect(hours(first)).toEqual(["11", "10"]);
    const second = await page(`limit=2&before=${first.nextBefore}`);
    expect([hours(second), second.nextBefore]).toEqual([["09"], null]);
  });

  it("take their fires and their open failure along when they are deleted, and leave their runs", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.endRuns();
    await test.repository.commit({ "agents/ai-sdk/echo.json": "{}" });
    await test.readRepository({ away: false });
    await test.fireAt("2026-03-02T10:00:00Z");
    expect(await test.openDispatches()).toHaveLength(1);
    await test.call("DELETE", `/automations/${id}`);
    expect(await test.openDispatches()).toEqual([]);
    expect(await test.db.read("schedule_fires")).toEqual([]);
    expect(await test.runsOf(id)).toHaveLength(2);
  });

  it("ask to be woken when they are due soon, and later for those that come later", async () => {
    const test = await setUp();
    await test.create({ schedule: "31 * * * *" });
    await test.create({ schedule: "45 * * * *" });
    expect(test.asked).toEqual([Date.parse("2026-03-02T08:31:00Z")]);
    test.asked.length = 0;
    await test.fireAt("2026-03-02T08:43:30Z");
    expect(test.asked).toEqual([Date.parse("2026-03-02T08:45:00Z")]);
  });

  it("keep rows of the ledger for half a year", async () => {
    const test = await setUp();
    await test.create({ overlap: "allow" });
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.fireAt("2026-06-02T09:00:00Z");
    const { forgetOldFires } = await import("../../../src/automations/index.ts");
    const forget = (now: string) => test.db.transaction((tx) => forgetOldFires(tx, Date.parse(now)));
    expect(await forget("2026-08-29T08:00:00Z")).toBe(0);
    expect(await forget("2026-08-29T10:00:00Z")).toBe(1);
    expect(await test.db.read("schedule_fires").pluck("outcome")).toEqual(
      expect.arrayContaining(["coalesced", "fired"]),
    );
  });
});
