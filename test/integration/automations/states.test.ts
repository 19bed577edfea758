import { describe, expect, it } from "vitest";
import type { MissingConnection } from "../../../src/connections/index.ts";
import { setUpAutomations, type TestAutomations } from "../../support/automation-setup.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentFiles } from "../../support/run-requests.ts";

const files = agentFiles({ echo: {}, mailer: { connections: ["GMAIL_SEND"] } });

/** Makes the agent invalid in the repository, or valid again. */
async function setValid(test: TestAutomations, valid: boolean) {
  await test.repository.commit(valid ? files : { "agents/ai-sdk/echo.json": '{"name": "echo"}' });
  await test.readRepository({ away: false });
}

describe.each(databases())("states of automations on %s", (engine) => {
  const database = useDatabase(engine);
  const setUp = (lacking: MissingConnection[] = []) =>
    setUpAutomations(database.db, { now: "2026-03-02T08:30:00Z", files, missing: async () => lacking });

  it.each([
    ["has left", (test: TestAutomations) => test.removeMember("olga"), /olga is not a member/],
    ["has a weaker role", (test: TestAutomations) => test.setRole("olga", "viewer"), /role viewer/],
  ])("paused before it can fire when its owner %s", async (_what, lose, reason) => {
    const test = await setUp();
    const key = await test.addMember("olga", "operator");
    const { id } = await test.create({}, { key });
    await lose(test);
    await test.fireAt("2026-03-02T10:10:00Z");
    expect(await test.find(id)).toMatchObject({
      ...{ status: "paused", statusReason: expect.stringMatching(reason), enabled: true, nextRunAt: null },
    });
    expect(await test.fires(id)).toMatchObject([
      { outcome: "blocked", reason: expect.stringMatching(reason), scheduledFor: "2026-03-02T10:00:00.000Z" },
      { outcome: "coalesced", count: 1 },
    ]);
    await test.fireAt("2026-03-02T11:00:00Z");
    expect([await test.runsOf(id), await test.db.read("jobs")]).toEqual([[], []]);

    const resume = { enabled: true };
    expect((await test.call("PATCH", `/automations/${id}`, { body: resume })).status).toBe(422);
    const resumed = await test.call("PATCH", `/automations/${id}`, { body: { ...resume, owner: "admin" } });
    expect(resumed.body.automation).toMatchObject({
      ...{ status: "enabled", statusReason: null, owner: "admin", nextRunAt: "2026-03-02T12:00:00.000Z" },
    });
  });

  it("paused, stays so until somebody says whether it is to go on", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await test.db.transaction((tx) => test.ownership.release(tx, test.workspaceId, "admin", "Away."));
    const patch = async (body: object) =>
      (await test.call("PATCH", `/automations/${id}`, { body })).body.automation;
    expect(await patch({ schedule: "30 * * * *" })).toMatchObject({ status: "paused", nextRunAt: null });
    expect(await patch({ enabled: false })).toMatchObject({ status: "disabled", nextRunAt: null });
    expect(await patch({ enabled: true })).toMatchObject({
      ...{ status: "enabled", nextRunAt: "2026-03-02T09:30:00.000Z" },
    });
  });

  it("a member's automations are paused or handed over as a whole; disabled ones stay disabled", async () => {
    const test = await setUp();
    const key = await test.addMember("olga", "operator");
    const on = await test.create({}, { key });
    const off = await test.create({ enabled: false }, { key });
    const other = await test.create();
    const { ownership, db, workspaceId } = test;
    const owned = await ownership.ownedBy(db.read, workspaceId, "olga");
    expect(owned.map(({ id }) => id)).toEqual([on.id, off.id]);
    expect(
      await db.transaction((tx) => ownership.release(tx, workspaceId, "olga", "olga is leaving.")),
    ).toEqual([on.id]);
    expect([await test.find(on.id), await test.find(off.id)]).toMatchObject([
      { status: "paused", statusReason: "olga is leaving." },
      { status: "disabled", statusReason: null },
    ]);
    expect(await db.transaction((tx) => ownership.reassign(tx, workspaceId, "olga", "admin"))).toEqual([
      on.id,
      off.id,
    ]);
    expect((await ownership.ownedBy(db.read, workspaceId, "admin")).map(({ id }) => id)).toEqual([
      ...[on.id, off.id, other.id],
    ]);
  });

  it("Error when it cannot start: a failed run, an entry under action needed, and the next one is tried", async () => {
    const test = await setUp();
    const viewer = await test.addMember("vera", "viewer");
    const { id } = await test.create();
    await setValid(test, false);
    await test.fireAt("2026-03-02T09:00:00Z");
    const [failed] = await test.runsOf(id);
    expect(await test.find(id)).toMatchObject({
      ...{ status: "Error", statusReason: expect.stringMatching(/not valid/), enabled: true },
      ...{ nextRunAt: "2026-03-02T10:00:00.000Z", lastRunId: failed.id },
    });
    const { run } = (await test.call("GET", `/runs/${failed.id}?wait=0`)).body;
    expect(run).toMatchObject({
      ...{ status: "failed", failureCode: "invalid_spec", runAs: "admin", automationId: id },
      ...{ finishedAt: "2026-03-02T09:00:00.000Z", errorDetails: expect.stringMatching(/problems/) },
    });
    expect(await test.db.read("jobs")).toEqual([]);
    expect(await test.fires(id)).toMatchObject([{ outcome: "error", runId: failed.id }]);
    await test.fireAt("2026-03-02T10:00:00Z");
    const needed = (await test.call("GET", "/dispatches?state=action_needed&kind=schedule")).body.dispatches;
    expect(needed).toMatchObject([
      {
        ...{ kind: "schedule", ref: id, state: "action_needed", attempt: 2 },
        ...{ failedAt: "2026-03-02T10:00:00.000Z", diagnostics: expect.any(String) },
      },
    ]);
    const shown = (await test.call("GET", "/dispatches", { key: viewer })).body.dispatches;
    const { diagnostics: _, ...safe } = needed[0];
    expect(shown).toEqual([safe]);

    // Neither editing nor saving the same again clears it, nor does making the agent valid.
    await setValid(test, true);
    for (const body of [
      {},
      { schedule: "0 * * * *" },
      { message: "x" },
      { enabled: false },
      { enabled: true },
    ]) {
      const answer = await test.call("PATCH", `/automations/${id}`, { body });
      expect(answer.body.automation.status).toBe("Error");
    }
    expect((await test.call("GET", "/automations?status=Error")).body.automations).toMatchObject([{ id }]);
    await test.fireAt("2026-03-02T11:00:00Z");
    const started = (await test.runsOf(id)).at(-1);
    expect(started).toMatchObject({ status: "queued" });
    expect(await test.find(id)).toMatchObject({
      status: "enabled",
      statusReason: null,
      lastRunId: started.id,
    });
    expect(await test.openDispatches()).toMatchObject([
      {
        ...{ state: "recovered", attempt: 2, failedAt: "2026-03-02T10:00:00.000Z" },
        ...{ recoveredAt: "2026-03-02T11:00:00.000Z", recoveryRunId: started.id },
      },
    ]);
  });

  it("Error is cleared by a run that somebody asks for, too", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await setValid(test, false);
    await test.fireAt("2026-03-02T09:00:00Z");
    expect((await test.call("POST", `/automations/${id}/run`)).status).toBe(422);
    expect((await test.find(id)).status).toBe("Error");
    await setValid(test, true);
    const { status, body } = await test.call("POST", `/automations/${id}/run`);
    expect(status).toBe(202);
    expect(await test.find(id)).toMatchObject({ status: "enabled", lastRunId: body.run_id });
    expect(await test.openDispatches()).toMatchObject([{ state: "recovered", recoveryRunId: body.run_id }]);
  });

  it("Error when the owner lacks a connection", async () => {
    const lacking = [{ toolkit: "gmail", slugs: ["GMAIL_SEND"], connectUrl: null }];
    const test = await setUp(lacking);
    const { id } = await test.create({ agent: "mailer" });
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.runsOf(id)).toMatchObject([
      { status: "failed", failure_code: "connection_missing", framework: "ai-sdk", version: "draft" },
    ]);
    expect((await test.find(id)).statusReason).toBe(
      "admin has not connected what the agent needs: GMAIL_SEND.",
    );
    lacking.length = 0;
    await test.fireAt("2026-03-02T10:00:00Z");
    expect((await test.find(id)).status).toBe("enabled");
  });

  it("Error when the agent is gone; also while the repository is away it stays listed as such", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await test.repository.commit({ "agents/ai-sdk/other.json": files["agents/ai-sdk/mailer.json"] ?? "" });
    await test.readRepository({ away: false });
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.find(id)).toMatchObject({
      status: "Error",
      statusReason: expect.stringMatching(/echo/),
    });
    expect(await test.runsOf(id)).toMatchObject([{ failure_code: "invalid_spec", framework: "" }]);
    await test.readRepository({ away: true });
    await test.fireAt("2026-03-02T10:00:00Z");
    expect(await test.openDispatches()).toMatchObject([
      { state: "action_needed", attempt: 2, nextAttemptAt: "2026-03-02T10:00:30.000Z" },
    ]);
    expect((await test.find(id)).status).toBe("Error");
  });

  it("while the repository cannot be read a draft stays due, tried after 30 s and twice as long each time", async () => {
    const test = await setUp();
    const { id } = await test.create();
    await test.readRepository({ away: true });
    let at = Date.parse("2026-03-02T09:00:00Z");
    for (const seconds of [30, 60, 120, 240, 480, 900, 900]) {
      await test.fireAt(test.at(at));
      const [dispatch] = await test.openDispatches();
      at += seconds * 1_000;
      expect(dispatch).toMatchObject({ state: "retrying", nextAttemptAt: test.at(at), ref: id });
      // Nothing is tried before its time.
      await test.fireAt(test.at(at - 1));
      expect((await test.openDispatches())[0].attempt).toBe(dispatch.attempt);
    }
    expect(await test.find(id)).toMatchObject({
      ...{ status: "enabled", statusReason: expect.stringMatching(/repository/) },
      ...{ nextRunAt: "2026-03-02T09:00:00.000Z" },
    });
    expect([await test.runsOf(id), await test.fires(id)]).toEqual([[], []]);

    await test.readRepository({ away: false });
    test.time.now = Date.parse("2026-03-02T12:40:00Z");
    await test.automations.repositoryBack(test.workspaceId);
    const [run, ...others] = await test.runsOf(id);
    expect(others).toEqual([]);
    expect(await test.fires(id)).toMatchObject([
      { outcome: "fired", scheduledFor: "2026-03-02T12:00:00.000Z", runId: run.id },
      { outcome: "coalesced", count: 3, firstScheduledFor: "2026-03-02T09:00:00.000Z" },
    ]);
    expect(await test.openDispatches()).toMatchObject([
      { state: "recovered", attempt: 7, recoveryRunId: run.id },
    ]);
    expect(await test.find(id)).toMatchObject({ statusReason: null, nextRunAt: "2026-03-02T13:00:00.000Z" });
  });

  it("what waits for the repository and is turned off or paused says that nothing is tried any more", async () => {
    const test = await setUp();
    const [off, paused] = [await test.create(), await test.create()];
    await test.readRepository({ away: true });
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.call("PATCH", `/automations/${off.id}`, { body: { enabled: false } });
    await test.db.transaction((tx) => test.ownership.release(tx, test.workspaceId, "admin", "Away."));
    for (const dispatch of await test.openDispatches()) {
      expect(dispatch).toMatchObject({ state: "retrying", attempt: 1 });
      expect(dispatch).not.toHaveProperty("nextAttemptAt");
    }
    expect(await test.fires(off.id)).toMatchObject([{ outcome: "missed" }]);
    expect(await test.fires(paused.id)).toMatchObject([{ outcome: "blocked" }]);
    const { body } = await test.call("PATCH", `/automations/${off.id}`, { body: { enabled: true } });
    await test.readRepository({ away: false });
    await test.fireAt(body.automation.nextRunAt);
    expect(await test.openDispatches()).toContainEqual(
      expect.objectContaining({ ref: off.id, state: "recovered", attempt: 1 }),
    );
  });

  it("a stable version goes on from its snapshot while the repository is away", async () => {
    const test = await setUp();
    await test.promote("echo");
    const { id, targetVersion } = await test.create();
    expect(targetVersion).toBe("stable");
    await test.readRepository({ away: true });
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.runsOf(id)).toMatchObject([{ version: "1", environment: "production" }]);
    expect(await test.openDispatches()).toEqual([]);
  });

  it("the version is looked up when it fires; which kind of version was fixed when it was made", async () => {
    const test = await setUp();
    const { id, targetVersion } = await test.create();
    expect(targetVersion).toBe("draft");
    await test.promote("echo");
    const commitSha = await test.repository.commit({
      "agents/ai-sdk/echo.json": (files["agents/ai-sdk/echo.json"] ?? "").replace("tested", "changed"),
    });
    await test.readRepository({ away: false });
    await test.fireAt("2026-03-02T09:00:00Z");
    expect(await test.runsOf(id)).toMatchObject([{ version: "draft", commit_sha: commitSha }]);
  });

  it("a schedule that cannot be read any more becomes an Error and is not forgotten", async () => {
    const test = await setUp();
    const { id } = await test.create();
    const setZone = (timezone: string) =>
      test.db.transaction((tx) => tx("automations").where({ id }).update({ timezone }));
    await setZone("Mars/Olympus");
    await test.fireAt("2026-03-02T09:00:00Z");
    await test.fireAt("2026-03-02T10:00:00Z");
    expect(await test.find(id)).toMatchObject({ status: "Error" });
    expect(await test.fires(id)).toMatchObject([
      { outcome: "error", scheduledFor: "2026-03-02T09:00:00.000Z" },
    ]);
    expect(await test.openDispatches()).toMatchObject([{ state: "action_needed", ref: id }]);
    await setZone("UTC");
    await test.fireAt("2026-03-02T11:00:00Z");
    expect(await test.find(id)).toMatchObject({ status: "enabled", nextRunAt: "2026-03-02T12:00:00.000Z" });
  });
});
