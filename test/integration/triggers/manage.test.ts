import { describe, expect, it } from "vitest";
import { databases } from "../../support/databases.ts";
import { commitEvent, commits, startWithTriggers } from "../../support/trigger-setup.ts";

const connectUrl = "http://127.0.0.1/api/v1/connections/github/link";

describe.each(databases())("triggers on %s", (engine) => {
  it("belong to the member whose connection it is, and are changed by them and admins alone", async () => {
    const { app, addAccount, create } = await startWithTriggers({ engine });
    const [olga, oskar] = [await app.member("olga", "operator"), await app.member("oskar", "operator")];
    const viewer = await app.member("vera", "viewer");
    const connection = addAccount("github", "ACTIVE", "olga");
    const body = { connection, slug: commitEvent, config: commits };
    const foreign = await create(body, { key: oskar });
    expect([foreign.status, foreign.json.details]).toEqual([
      422,
      { missing: [{ toolkit: "github", slugs: [commitEvent], connectUrl }] },
    ]);
    expect((await create(body, { key: viewer })).status).toBe(403);
    // The admin names another's connection; the trigger is then that member's.
    const made = await create(body);
    expect([made.status, made.json.trigger.owner]).toEqual([201, "olga"]);
    const { id } = made.json.trigger;
    const path = `/triggers/${id}`;
    for (const method of ["PATCH", "DELETE"]) {
      const change = method === "PATCH" ? { body: { enabled: false } } : {};
      expect((await app.request(method, path, { key: oskar, ...change })).status).toBe(403);
      expect((await app.request(method, "/triggers/trg_0", change)).status).toBe(404);
    }
    expect((await app.request("GET", path, { key: viewer })).json).toEqual(made.json);
    const list = await app.request("GET", "/agents/echo/triggers", { key: viewer });
    expect(list.json).toEqual({ triggers: [made.json.trigger], nextBefore: null });
    expect((await app.request("GET", "/agents/nobody/triggers")).status).toBe(404);
    const off = await app.request("PATCH", path, { key: olga, body: { enabled: false, tools: [] } });
    expect(off.json.trigger).toMatchObject({
      enabled: false,
      tools: [],
      subscription: { state: "disabled" },
    });
    expect((await app.request("DELETE", path, { key: olga })).status).toBe(204);
    expect((await app.request("GET", path)).status).toBe(404);
    await expect.poll(() => app.db.read("triggers")).toEqual([]);
  });

  it("are refused for what cannot work, and nothing is left behind", async () => {
    const { app, composio, addAccount, create } = await startWithTriggers({ engine });
    const connection = addAccount("github");
    const body = { connection, slug: commitEvent, config: commits };
    const refusal = async (change: Record<string, unknown>) => {
      const { status, json } = await create({ ...body, ...change });
      return [status, json.details ?? json.error];
    };
    const missing = [{ toolkit: "github", slugs: [commitEvent], connectUrl }];
    expect(await refusal({ connection: addAccount("github", "EXPIRED") })).toEqual([422, { missing }]);
    expect(await refusal({ connection: addAccount("mail") })).toEqual([422, { missing }]);
    expect(await refusal({ connection: "ca_nobodys" })).toEqual([422, { missing }]);
    expect(await refusal({ slug: "GITHUB_UNKNOWN" })).toEqual([
      422,
      expect.stringContaining("/trigger-types"),
    ]);
    expect(await refusal({ config: { repo: "Shop!" } })).toEqual([
      400,
      [
        { path: "config.owner", message: "This is required." },
        { path: "config.repo", message: expect.any(String) },
      ],
    ]);
    expect((await refusal({ tools: ["WEB_SEARCH"] }))[0]).toBe(422);
    expect((await refusal({ slug: "lower" }))[0]).toBe(400);
    expect((await refusal({ secret: 1 }))[0]).toBe(400);
    expect((await app.request("POST", "/agents/nobody/triggers", { body })).status).toBe(404);
    composio.fail(/triggers_types/, { status: 502 });
    const down = await create(body);
    expect([down.status, down.headers.get("retry-after")]).toEqual([503, "5"]);
    composio.subscriptions.push({
      id: "wh_1",
      webhook_url: "https://elsewhere.test/secret-path",
      enabled_events: [],
    });
    expect(await refusal({})).toEqual([422, expect.stringContaining("elsewhere.test already")]);
    composio.subscriptions.pop();
    expect(await app.db.read("triggers")).toEqual([]);
    expect(composio.triggers).toEqual([]);
    const first = await create(body);
    const twin = await create({ ...body, config: { repo: "shop", owner: "acme" } });
    expect([twin.status, twin.json.details]).toEqual([409, { trigger: first.json.trigger.id }]);
    const many = await Promise.all(
      Array.from({ length: 4 }, () => create({ ...body, slug: "GITHUB_STAR_EVENT", config: {} })),
    );
    expect(many.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect(composio.triggers).toHaveLength(2);
  });
});

it("need a provider, and keep the secret that it makes for the deliveries", async () => {
  const { app, composio, addAccount, create, subscriptionOf, deliver, worked } = await startWithTriggers({
    configured: false,
  });
  const connection = addAccount("github");
  const body = { connection, slug: commitEvent, config: commits };
  const refused = await create(body);
  expect([refused.status, refused.json.error]).toEqual([422, expect.stringContaining("API key")]);
  await app.request("PATCH", "/settings", { body: { integration: { apiKey: composio.apiKey } } });
  expect((await create(body)).status).toBe(201);
  const { json } = await app.request("GET", "/settings");
  expect(json.settings.integration.webhookSecret).toEqual({ set: true });
  await deliver(subscriptionOf(connection), { id: "msg_1" });
  expect((await worked("msg_1")).state).toBe("done");
});

it("are answered once for one Idempotency-Key", async () => {
  const { app, composio, addAccount } = await startWithTriggers();
  const connection = addAccount("github");
  const setup = {
    body: { connection, slug: commitEvent, config: commits },
    headers: { "idempotency-key": "once" },
  };
  const first = await app.request("POST", "/agents/echo/triggers", setup);
  const again = await app.request("POST", "/agents/echo/triggers", setup);
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.json.trigger.id).toBe(first.json.trigger.id);
  expect(composio.triggers).toHaveLength(1);
});

it("can be made of the types that the provider has, also while it is away", async () => {
  const { app, composio, addAccount } = await startWithTriggers();
  const slugs = async (query = "") => {
    const { json } = await app.request("GET", `/trigger-types${query}`);
    return json.triggerTypes.map(({ slug }: { slug: string }) => slug);
  };
  expect(await slugs()).toEqual([]);
  expect(await slugs("?toolkit=github")).toEqual([commitEvent, "GITHUB_STAR_EVENT"]);
  addAccount("mail");
  await app.db.transaction((tx) =>
    tx("provider_documents").where({ kind: "composio.accounts" }).update({ refresh_at: 0, fetched_at: 0 }),
  );
  expect(await slugs()).toEqual(["MAIL_NEW_MESSAGE"]);
  composio.fail(/./, { status: 500 }, 1_000);
  await app.db.transaction((tx) => tx("provider_documents").update({ refresh_at: 0 }));
  expect(await slugs("?toolkit=github")).toEqual([commitEvent, "GITHUB_STAR_EVENT"]);
  await expect
    .poll(async () => (await app.request("GET", "/trigger-types?toolkit=github")).json.warnings)
    .toEqual(["Composio answered 500; try again later."]);
  expect((await app.request("GET", "/trigger-types?toolkit=a%20b")).status).toBe(400);
});
