import { describe, expect, it } from "vitest";
import { createIds } from "../../../src/platform/ids.ts";
import { createJobQueue } from "../../../src/platform/jobs/index.ts";
import { triggerOwnership } from "../../../src/triggers/ownership.ts";
import { maskedToken } from "../../support/composio-simulator.ts";
import { databases, tableNames } from "../../support/databases.ts";
import { endedRun, specText } from "../../support/run-requests.ts";
import { commitEvent, commits, startWithTriggers, type TriggerSetup } from "../../support/trigger-setup.ts";

const body = (connection: string) => ({ connection, slug: commitEvent, config: commits });

const triggerOf = async ({ app }: TriggerSetup, id: string) =>
  (await app.request("GET", `/triggers/${id}`)).json.trigger;

const dispatches = ({ app }: TriggerSetup) => app.db.read("dispatches").orderBy("id");

describe.each(databases())("events that cannot start a run on %s", (engine) => {
  it("end as failed runs of one open failure, which the next run closes", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, addAccount, create, subscriptionOf, deliver, worked } = setup;
    const connection = addAccount("github");
    const { id } = (await create(body(connection))).json.trigger;
    await app.commit({ "agents/ai-sdk/echo.json": "{}" });
    for (const event of ["msg_1", "msg_2"]) {
      await deliver(subscriptionOf(connection), { id: event });
      const delivery = await worked(event);
      expect(delivery).toMatchObject({ state: "failed", reason: expect.stringContaining("echo") });
      expect(await endedRun(app, delivery.run_id)).toMatchObject({
        ...{ status: "failed", failureCode: "invalid_spec", trigger: "event", triggerId: id, runAs: "admin" },
      });
    }
    expect(await dispatches(setup)).toMatchObject([
      { kind: "trigger", ref: id, state: "action_needed", attempt: 2 },
    ]);
    await app.commit({ "agents/ai-sdk/echo.json": specText("echo") });
    await deliver(subscriptionOf(connection), { id: "msg_3" });
    const { run_id } = await worked("msg_3");
    expect(await dispatches(setup)).toMatchObject([
      { state: "recovered", attempt: 2, open_ref: null, recovery_run_id: run_id },
    ]);
  });

  it("disable the trigger when its owner may not start runs any more", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, subscriptionOf, deliver, worked, runs } = setup;
    const key = await app.member("olga", "operator");
    const connection = addAccount("github", "ACTIVE", "olga");
    const { id } = (await setup.create(body(connection), { key })).json.trigger;
    const subscribed = subscriptionOf(connection);
    await app.request("PATCH", "/members/olga", { body: { role: "viewer" } });
    await deliver(subscribed, { id: "msg_1" });
    expect(await worked("msg_1")).toMatchObject({ state: "failed", reason: expect.stringContaining("olga") });
    expect(await runs()).toMatchObject([{ status: "failed", failure_code: "not_permitted", run_as: "olga" }]);
    await expect.poll(() => composio.triggers.map(({ disabled }) => disabled)).toEqual([true]);
    await expect
      .poll(() => triggerOf(setup, id))
      .toMatchObject({
        enabled: false,
        subscription: { state: "disabled", error: expect.stringContaining("olga") },
      });
    await deliver(subscribed, { id: "msg_2" });
    expect(await worked("msg_2")).toMatchObject({ state: "ignored", run_id: null });
    const enable = { body: { enabled: true } };
    expect((await app.request("PATCH", `/triggers/${id}`, enable)).status).toBe(422);
    await app.request("PATCH", "/members/olga", { body: { role: "operator" } });
    const { trigger } = (await app.request("PATCH", `/triggers/${id}`, { ...enable, key })).json;
    expect(trigger).toMatchObject({ enabled: true, subscription: { state: "active" } });
    expect(trigger.subscription.error).toBeUndefined();
    await deliver(subscribed, { id: "msg_3" });
    await worked("msg_3");
    expect(await dispatches(setup)).toMatchObject([{ state: "recovered" }]);
  });

  it("are said by the provider itself: a subscription that was stopped, an account that expired", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, hookUrl, addAccount, create, subscriptionOf, worked } = setup;
    const [first, second] = [addAccount("github"), addAccount("github")];
    const stopped = (await create(body(first))).json.trigger.id;
    const expired = (await create(body(second))).json.trigger.id;
    const tell = async (id: string, type: string, data: object) => {
      const payload = { id, type, timestamp: new Date().toISOString(), metadata: {}, data };
      await composio.deliver(hookUrl, { version: "V3", id, event: { payload } });
      return worked(id);
    };
    const disabled = { id: subscriptionOf(first).id, disabled_reason: "connection_expired" };
    expect((await tell("msg_1", "composio.trigger.disabled", disabled)).state).toBe("done");
    expect((await triggerOf(setup, stopped)).subscription).toEqual({
      state: "disabled",
      error: expect.stringContaining("(connection_expired)"),
    });
    const state = { authScheme: "OAUTH2", val: { access_token: maskedToken } };
    const account = {
      id: second,
      toolkit: { slug: "github" },
      user_id: `rollcall:${app.workspaceId}:admin`,
      state,
    };
    expect((await tell("msg_2", "composio.connected_account.expired", account)).state).toBe("done");
    expect((await triggerOf(setup, expired)).subscription).toEqual({
      state: "failed",
      error: expect.stringContaining("github has expired"),
    });
    const nobodys = { ...account, id: "ca_nobodys" };
    expect((await tell("msg_3", "composio.connected_account.expired", nobodys)).state).toBe("ignored");
    expect(await dispatches(setup)).toMatchObject([
      { ref: stopped, state: "action_needed" },
      { ref: expired, state: "action_needed" },
    ]);
    expect(await setup.runs()).toEqual([]);
    const again = await app.request("PATCH", `/triggers/${stopped}`, { body: { enabled: true } });
    expect(again.json.trigger.subscription).toEqual({ state: "active" });
    // A deleted trigger's failure is nobody's any more.
    await app.request("DELETE", `/triggers/${expired}`);
    expect(await dispatches(setup)).toMatchObject([{ ref: stopped }]);
    const tables = await tableNames(app.db);
    const stored = JSON.stringify(await Promise.all(tables.map((table) => app.db.read(table))));
    const answers = await Promise.all(
      ["/settings", "/deliveries", "/agents/echo/triggers", "/audit-log"].map((path) =>
        app.request("GET", path),
      ),
    );
    const places = {
      stored,
      logs: app.logs().join("\n"),
      answers: answers.map(({ text }) => text).join("\n"),
    };
    expect(stored).toContain("connection_expired");
    for (const [place, text] of Object.entries(places))
      for (const secret of [composio.apiKey, composio.secret, maskedToken])
        expect(text.includes(secret), place).toBe(false);
    const payloads = await app.db.read("deliveries").pluck("payload");
    expect(payloads).toHaveLength(3);
    expect(payloads.map((bytes) => Buffer.from(bytes).toString()).join()).not.toContain("access_token");
  });
});

it("need only the tools that the trigger's runs are held to", async () => {
  const { app, addAccount, subscriptionOf, deliver, worked } = await startWithTriggers();
  const key = await app.member("olga", "operator");
  const connection = addAccount("mail", "ACTIVE", "olga");
  const create = await app.request("POST", "/agents/helper/triggers", {
    key,
    body: { connection, slug: "MAIL_NEW_MESSAGE" },
  });
  expect(create.status).toBe(201);
  await deliver(subscriptionOf(connection), { id: "msg_1" });
  const { run_id } = await worked("msg_1");
  expect(await endedRun(app, run_id)).toMatchObject({ status: "failed", failureCode: "connection_missing" });
  const path = `/triggers/${create.json.trigger.id}`;
  const held = await app.request("PATCH", path, { key, body: { tools: ["ROLLCALL_CURRENT_TIME"] } });
  expect(held.json.trigger.subscription.state).toBe("active");
  await deliver(subscriptionOf(connection), { id: "msg_2" });
  expect((await worked("msg_2")).state).toBe("done");
});

it("do not come of what a member who goes has owned", async () => {
  const setup = await startWithTriggers();
  const { app, composio, addAccount, create, subscriptionOf } = setup;
  const key = await app.member("olga", "operator");
  await app.member("oskar", "operator");
  const [mine, other] = [addAccount("github", "ACTIVE", "olga"), addAccount("github", "ACTIVE", "oskar")];
  const { trigger } = (await create(body(mine), { key })).json;
  const { db, workspaceId } = app;
  const queue = createJobQueue(db, createIds(), Date.now);
  const ownership = triggerOwnership({ clock: Date.now, queue });
  const owned = { id: trigger.id, agent: trigger.agent, label: trigger.slug, enabled: true };
  expect(await ownership.ownedBy(db.read, workspaceId, "olga")).toEqual([owned]);
  expect(await db.transaction((tx) => ownership.release(tx, workspaceId, "olga", "olga has left."))).toEqual([
    trigger.id,
  ]);
  await expect
    .poll(() => triggerOf(setup, trigger.id))
    .toMatchObject({ enabled: false, subscription: { state: "disabled", error: "olga has left." } });
  expect(composio.triggers.map(({ disabled }) => disabled)).toEqual([true]);
  const moved = await db.transaction((tx) => ownership.reassign(tx, workspaceId, "olga", "oskar"));
  expect(moved).toEqual([trigger.id]);
  const path = `/triggers/${trigger.id}`;
  await expect.poll(() => triggerOf(setup, trigger.id)).toMatchObject({ owner: "oskar", enabled: false });
  const enabled = await app.request("PATCH", path, { body: { enabled: true } });
  expect([enabled.status, enabled.json.error]).toEqual([422, expect.stringContaining("belongs to oskar")]);
  const { json } = await app.request("PATCH", path, { body: { enabled: true, connection: other } });
  expect(json.trigger).toMatchObject({ owner: "oskar", enabled: true, subscription: { state: "active" } });
  expect(subscriptionOf(other).disabled).toBe(false);
  expect(composio.triggers).toHaveLength(1);
});
