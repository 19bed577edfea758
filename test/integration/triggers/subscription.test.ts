import { describe, expect, it } from "vitest";
import { databases } from "../../support/databases.ts";
import {
  commitEvent,
  commits,
  startWithTriggers,
  type TriggerSetup,
  untold,
} from "../../support/trigger-setup.ts";

const body = (connection: string) => ({ connection, slug: commitEvent, config: commits });

const stateOf = async ({ app }: TriggerSetup, id: string) =>
  (await app.request("GET", `/triggers/${id}`)).json.trigger.subscription;

const rows = ({ app }: TriggerSetup) => app.db.read("triggers");
const long = { timeout: 20_000 };

describe.each(databases())("the provider's part of a trigger on %s", (engine) => {
  it("is told of a config or connection that changed, and of a deletion", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, create, subscriptionOf } = setup;
    const [first, second] = [addAccount("github"), addAccount("github")];
    const { id } = (await create(body(first))).json.trigger;
    const before = subscriptionOf(first).id;
    const config = { owner: "acme", repo: "docs" };
    const changed = await app.request("PATCH", `/triggers/${id}`, { body: { config } });
    expect(changed.json.trigger).toMatchObject({ id, config, subscription: { state: "active" } });
    expect(subscriptionOf(first)).toMatchObject({ config });
    expect(subscriptionOf(first).id).not.toBe(before);
    const moved = await app.request("PATCH", `/triggers/${id}`, { body: { connection: second } });
    expect(moved.json.trigger).toMatchObject({ connection: second, subscription: { state: "active" } });
    expect(composio.triggers.map(({ accountId }) => accountId)).toEqual([second]);
    const bad = await app.request("PATCH", `/triggers/${id}`, { body: { config: { owner: 1 } } });
    expect(bad.status).toBe(400);
    expect(await untold(setup)).toEqual([]);
    await app.request("DELETE", `/triggers/${id}`);
    await expect.poll(() => rows(setup)).toEqual([]);
    expect(composio.triggers).toEqual([]);
  });

  it("is made again and again while the provider is away, and then as it is wanted", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, create } = setup;
    composio.fail(/^POST \/trigger_instances/, { status: 503 }, 2);
    const made = await create(body(addAccount("github")));
    expect([made.status, made.json.trigger.subscription]).toEqual([
      201,
      { state: "pending", error: "Composio answered 503; try again later." },
    ]);
    const { id } = made.json.trigger;
    await expect.poll(() => stateOf(setup, id), long).toEqual({ state: "active" });
    composio.fail(/^DELETE/, "cut", 2);
    expect((await app.request("DELETE", `/triggers/${id}`)).status).toBe(204);
    expect((await app.request("GET", `/triggers/${id}`)).status).toBe(404);
    expect(composio.triggers).toHaveLength(1);
    await expect.poll(() => rows(setup), long).toEqual([]);
    expect(composio.triggers).toEqual([]);
  });

  it("leaves nothing when a process dies between the subscription and its id", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, create } = setup;
    // The subscription is there, but whoever asked for it never learns its id.
    composio.fail(/^GET \/trigger_instances\/active/, { status: 500 }, 1);
    const { id } = (await create(body(addAccount("github")))).json.trigger;
    expect(composio.triggers).toHaveLength(1);
    expect(await rows(setup)).toMatchObject([{ asked: 1, provider_id: null }]);
    expect((await app.request("DELETE", `/triggers/${id}`)).status).toBe(204);
    await expect.poll(() => rows(setup), long).toEqual([]);
    expect(composio.triggers).toEqual([]);
  });

  it("comes to what was wanted last, whatever was wanted meanwhile", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, addAccount, create } = setup;
    const connection = addAccount("github");
    const { id } = (await create(body(connection))).json.trigger;
    const changes = Array.from({ length: 8 }, (_, n) =>
      n % 2 ? { enabled: n % 4 === 1 } : { config: { owner: "acme", repo: n % 4 ? "docs" : "shop" } },
    );
    const answers = await Promise.all(
      changes.map((change) => app.request("PATCH", `/triggers/${id}`, { body: change })),
    );
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
    const settled = async () => {
      const all = await rows(setup);
      return all.length === 1 && all[0].state === (all[0].enabled ? "active" : "disabled");
    };
    await expect.poll(settled, long).toBe(true);
    expect(await untold(setup)).toEqual([]);
  });

  it("heeds what is changed while it is being asked", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, create, subscriptionOf } = setup;
    const connection = addAccount("github");
    // Reading the subscription back takes a second; until then nobody knows its id.
    const holdBack = () =>
      composio.fail(/^GET \/trigger_instances\/active/, { status: 429, retryAfter: "1" });
    holdBack();
    const creating = create(body(connection));
    await expect.poll(() => composio.triggers).toHaveLength(1);
    const [{ id }] = await rows(setup);
    const config = { owner: "acme", repo: "docs" };
    const changed = await app.request("PATCH", `/triggers/${id}`, { body: { config } });
    expect((await creating).json.trigger).toMatchObject({ id, config });
    expect(changed.json.trigger.subscription).toEqual({ state: "active" });
    expect(subscriptionOf(connection).config).toEqual(config);
    expect(await untold(setup)).toEqual([]);
    holdBack();
    const asked = composio.called(/upsert/).length;
    const enabling = app.request("PATCH", `/triggers/${id}`, { body: { enabled: true } });
    await expect.poll(() => composio.called(/upsert/).length).toBe(asked + 1);
    expect((await app.request("DELETE", `/triggers/${id}`)).status).toBe(204);
    await enabling;
    await expect.poll(() => rows(setup), long).toEqual([]);
    expect(composio.triggers).toEqual([]);
  });

  it("is not taken from a trigger that is made anew while the one before is being taken back", async () => {
    const setup = await startWithTriggers({ engine });
    const { app, composio, addAccount, create } = setup;
    const connection = addAccount("github");
    const { id } = (await create(body(connection))).json.trigger;
    composio.fail(/^DELETE/, { status: 429, retryAfter: "1" });
    await app.request("DELETE", `/triggers/${id}`);
    const again = (await create(body(connection))).json.trigger;
    await expect.poll(() => stateOf(setup, again.id), long).toEqual({ state: "active" });
    expect(composio.called(/^DELETE/)).toHaveLength(2);
    expect(await rows(setup)).toHaveLength(1);
    expect(composio.triggers).toHaveLength(1);
    expect(await untold(setup)).toEqual([]);
  });
});

it("is refused for good until somebody changes something", async () => {
  const setup = await startWithTriggers();
  const { app, composio, addAccount, create } = setup;
  composio.fail(/^POST \/trigger_instances/, { status: 400, message: "The repository is not known." });
  const made = await create(body(addAccount("github")));
  expect(made.json.trigger.subscription).toEqual({
    state: "failed",
    error: "Composio declined (400): The repository is not known.",
  });
  expect(await app.db.read("jobs").where({ kind: "trigger.subscription" })).toEqual([]);
  composio.silentUpsert = true;
  const again = await app.request("PATCH", `/triggers/${made.json.trigger.id}`, { body: { enabled: true } });
  expect(again.json.trigger.subscription).toEqual({ state: "active" });
  expect(await untold(setup)).toEqual([]);
  // Gone at the provider: disabling is no trouble, enabling subscribes anew.
  composio.triggers = [];
  const patch = (enabled: boolean) =>
    app.request("PATCH", `/triggers/${made.json.trigger.id}`, { body: { enabled } });
  expect((await patch(false)).json.trigger.subscription).toEqual({ state: "disabled" });
  expect((await patch(true)).json.trigger.subscription).toEqual({ state: "active" });
  expect(await untold(setup)).toEqual([]);
});

it("is not asked for a trigger that begins disabled", async () => {
  const { app, composio, addAccount, create } = await startWithTriggers();
  const made = await create({ ...body(addAccount("github")), enabled: false });
  expect(made.json.trigger).toMatchObject({ enabled: false, subscription: { state: "disabled" } });
  expect(composio.called(/upsert/)).toEqual([]);
  await app.request("DELETE", `/triggers/${made.json.trigger.id}`);
  await expect.poll(() => app.db.read("triggers")).toEqual([]);
  expect(composio.called(/DELETE|upsert/)).toEqual([]);
});
