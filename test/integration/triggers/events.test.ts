import { describe, expect, it } from "vitest";
import { databases } from "../../support/databases.ts";
import { endedRun } from "../../support/run-requests.ts";
import {
  commitEvent,
  commits,
  startDeliveries,
  startWithTriggers,
  untold,
} from "../../support/trigger-setup.ts";

describe.each(databases())("events of a trigger on %s", (engine) => {
  it("start one run each, as the connection's owner, in every version of the payload", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, hookUrl, addAccount, create, subscriptionOf, deliver, worked, runs } = setup;
    const key = await app.member("olga", "operator");
    const connection = addAccount("github", "ACTIVE", "olga");
    const made = await create({ connection, slug: commitEvent, config: commits }, { key });
    expect([made.status, made.json]).toEqual([
      201,
      {
        trigger: {
          id: expect.stringMatching(/^trg_/),
          agent: "echo",
          connection,
          slug: commitEvent,
          config: commits,
          enabled: true,
          owner: "olga",
          tools: null,
          subscription: { state: "active" },
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      },
    ]);
    const { trigger } = made.json;
    expect(composio.subscriptions).toMatchObject([
      { webhook_url: "http://127.0.0.1/api/hooks/integration/default", version: "V3" },
    ]);
    const subscribed = subscriptionOf(connection);
    expect(subscribed).toMatchObject({ slug: commitEvent, config: commits, disabled: false });
    for (const version of ["V1", "V2", "V3"] as const) {
      const answer = await deliver(subscribed, { version, id: `msg_${version}`, data: { commit: version } });
      expect([answer.status, await answer.json()]).toEqual([202, { ok: true }]);
      const delivery = await worked(`msg_${version}`);
      expect(delivery).toMatchObject({
        source: "integration",
        state: "done",
        reason: null,
        event: commitEvent,
      });
      expect(await endedRun(app, delivery.run_id)).toMatchObject({
        agent: "echo",
        status: "succeeded",
        trigger: "event",
        source: "Event",
        runAs: "olga",
        triggerId: trigger.id,
        version: "draft",
        output: `{"trigger_type":"event","trigger":"${commitEvent}","payload":{"commit":"${version}"}}`,
      });
    }
    expect(await runs()).toHaveLength(3);
    // An older payload that names the subscription by its other id.
    const old = {
      trigger_name: commitEvent,
      connection_id: connection,
      trigger_id: subscribed.uuid,
      payload: {},
    };
    await composio.deliver(hookUrl, { version: "V1", id: "msg_uuid", event: { payload: old } });
    expect((await worked("msg_uuid")).state).toBe("done");
    expect(await untold(setup)).toEqual([]);
  });

  it("end as one run however often one comes, and are replayed", async () => {
    const { app, addAccount, create, subscriptionOf, deliver, worked, runs } = await startWithTriggers({
      engine,
    });
    const connection = addAccount("github");
    await create({ connection, slug: commitEvent, config: commits });
    const subscribed = subscriptionOf(connection);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliver(subscribed, { id: `msg_${index % 2}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    const delivery = await worked("msg_0");
    await worked("msg_1");
    expect((await deliver(subscribed, { id: "msg_0" })).status).toBe(202);
    expect(await runs()).toHaveLength(2);
    expect(await app.db.read("deliveries")).toHaveLength(2);
    const api = await startDeliveries(app);
    const replay = `/deliveries/${delivery.id}/replay`;
    expect((await api.call("POST", replay, { key: app.key })).status).toBe(202);
    await expect.poll(runs).toHaveLength(3);
    expect((await worked("msg_0")).run_id).not.toBe(delivery.run_id);
  });

  it("of what is unknown, foreign or disabled are acknowledged, noted, and start nothing", async () => {
    const { app, composio, addAccount, create, subscriptionOf, deliver, worked, runs } =
      await startWithTriggers({ engine });
    const connection = addAccount("github");
    const { json } = await create({ connection, slug: commitEvent, config: commits });
    const subscribed = subscriptionOf(connection);
    const reasonOf = async (id: string, trigger: typeof subscribed) => {
      expect((await deliver(trigger, { id })).status).toBe(202);
      const { state, reason, run_id } = await worked(id);
      expect([state, run_id]).toEqual(["ignored", null]);
      return reason;
    };
    expect(await reasonOf("msg_1", { ...subscribed, id: "ti_x", accountId: "ca_x" })).toContain("No trigger");
    expect(await reasonOf("msg_2", { ...subscribed, accountId: "ca_x" })).toContain("another connection");
    expect(await reasonOf("msg_3", { ...subscribed, slug: "GITHUB_STAR_EVENT" })).toContain("another event");
    const off = await app.request("PATCH", `/triggers/${json.trigger.id}`, { body: { enabled: false } });
    expect(off.json.trigger).toMatchObject({ enabled: false, subscription: { state: "disabled" } });
    expect(composio.triggers.map(({ disabled }) => disabled)).toEqual([true]);
    expect(await reasonOf("msg_4", subscribed)).toContain("disabled");
    await composio.deliver(`${app.url}/api/hooks/integration/default`, {
      version: "V3",
      id: "msg_5",
      event: { payload: { type: "composio.something.new", data: { token: "gho_unknown_kind" } } },
    });
    expect((await worked("msg_5")).state).toBe("ignored");
    expect(await runs()).toEqual([]);
    const on = await app.request("PATCH", `/triggers/${json.trigger.id}`, { body: { enabled: true } });
    expect(on.json.trigger).toMatchObject({ enabled: true, subscription: { state: "active" } });
    await deliver(subscriptionOf(connection), { id: "msg_6" });
    expect((await worked("msg_6")).state).toBe("done");
  });
});

it("are refused alike without a fitting signature, whatever is wrong", async () => {
  const { app, composio, hookUrl, addAccount, create, subscriptionOf, deliver, worked, runs } =
    await startWithTriggers();
  const connection = addAccount("github");
  await create({ connection, slug: commitEvent, config: commits });
  const subscribed = subscriptionOf(connection);
  const event = { trigger: subscribed, userId: "", data: {} };
  const good = composio.sign({ version: "V3", event });
  const now = Math.floor(Date.now() / 1_000);
  const post = (url: string, headers: Record<string, string>, body: string) =>
    fetch(url, { method: "POST", headers, body });
  const { "webhook-signature": _, ...unsigned } = good.headers;
  const refused = [
    await post(hookUrl, unsigned, good.body),
    await post(hookUrl, good.headers, `${good.body} `),
    await post(hookUrl, good.headers, ""),
    await post(hookUrl.replace("default", "nobody"), good.headers, good.body),
    await deliver(subscribed, { secret: "another-secret" }),
    await deliver(subscribed, { timestamp: now - 400 }),
    await deliver(subscribed, { timestamp: now + 400 }),
  ];
  await app.request("PATCH", "/settings", { body: { integration: { webhookSecret: null } } });
  refused.push(await post(hookUrl, good.headers, good.body));
  const answers = await Promise.all(refused.map(async (answer) => [answer.status, await answer.text()]));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]?.[0]).toBe(401);
  expect(await app.db.read("deliveries")).toEqual([]);
  await app.request("PATCH", "/settings", { body: { integration: { webhookSecret: composio.secret } } });
  expect((await deliver(subscribed, { timestamp: now - 200, id: "msg_late" })).status).toBe(202);
  await worked("msg_late");
  expect(await runs()).toHaveLength(1);
  const large = composio.sign({ version: "V3", event: { payload: { text: "x".repeat(1_100_000) } } });
  expect((await post(hookUrl, large.headers, large.body)).status).toBe(413);
  expect((await deliver(subscribed, { id: "x".repeat(200) })).status).toBe(400);
  expect((await fetch(hookUrl)).status).toBe(405);
});

it("wait for the answer that tells the id of a subscription", async () => {
  const { app, composio, addAccount, create, subscriptionOf, deliver, worked } = await startWithTriggers();
  const connection = addAccount("github");
  // The event overtakes: the provider has subscribed, and reading it back fails for now.
  composio.fail(/^GET \/trigger_instances\/active/, { status: 500 });
  const creating = create({ connection, slug: commitEvent, config: commits });
  await expect.poll(() => composio.triggers).toHaveLength(1);
  await deliver(subscriptionOf(connection), { id: "msg_early" });
  expect((await creating).json.trigger.subscription).toMatchObject({ state: "pending" });
  expect((await worked("msg_early")).state).toBe("done");
  expect(await app.db.read("triggers")).toMatchObject([{ state: "active", asked: 0, error: null }]);
});
