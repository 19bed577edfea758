import { describe, expect, it } from "vitest";
import { startApp, type TestApp, useApp } from "../../support/app.ts";

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });
const hello = { agent: "hello", message: "Hello" };

const count = async ({ db }: TestApp, table: string, where: object = {}) =>
  Number((await db.read(table).where(where).count({ total: "*" }).first())?.total);

describe("a POST with an Idempotency-Key", () => {
  const app = useApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });

  it("is carried out once; a repetition gets the same answer and says so", async () => {
    const before = await count(app(), "runs");
    const first = await app().request("POST", "/runs", { body: hello, ...keyed("once") });
    const second = await app().request("POST", "/runs", { body: hello, ...keyed("once") });
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([202, null]);
    expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([202, "true"]);
    expect(second.text).toBe(first.text);
    expect(await count(app(), "runs")).toBe(before + 1);
    expect(await count(app(), "audit_log", { target: first.json.run_id })).toBe(1);
  });

  it("makes exactly one run of 50 requests at once", async () => {
    const [runs, jobs] = [await count(app(), "runs"), await count(app(), "jobs")];
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => app().request("POST", "/runs", { body: hello, ...keyed("twins") })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 202));
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1);
    expect([await count(app(), "runs"), await count(app(), "jobs")]).toEqual([runs + 1, jobs + 1]);
  });

  it("makes exactly one member of 20 requests at once, all answered alike", async () => {
    const body = { login: "twin", role: "viewer" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app().request("POST", "/members", { body, ...keyed("twin-member") })),
    );
    expect(new Set(answers.map(({ text, status }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(await count(app(), "audit_log", { action: "addMember", target: "twin" })).toBe(1);
  });

  it("is 409 for another body, which is not carried out", async () => {
    await app().request("POST", "/runs", { body: hello, ...keyed("other-body") });
    const before = await count(app(), "runs");
    const other = await app().request("POST", "/runs", {
      body: { ...hello, message: "Bye" },
      ...keyed("other-body"),
    });
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([409, null]);
    expect(await count(app(), "runs")).toBe(before);
  });

  it("carries out one of many bodies that come at once with one key", async () => {
    const before = await count(app(), "runs");
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        app().request("POST", "/runs", { body: { ...hello, message: `${index}` }, ...keyed("race") }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([202, ...Array.from({ length: 19 }, () => 409)]);
    expect(await count(app(), "runs")).toBe(before + 1);
  });

  it("belongs to its member, its path and its method", async () => {
    const key = await app().member("otto", "operator");
    const mine = await app().request("POST", "/runs", { body: hello, ...keyed("shared") });
    const theirs = await app().request("POST", "/runs", { key, body: hello, ...keyed("shared") });
    expect([theirs.status, theirs.json.run_id === mine.json.run_id]).toEqual([202, false]);
    const elsewhere = await app().request("POST", "/agents/validate", {
      body: { content: "x", format: "yaml" },
      ...keyed("shared"),
    });
    expect(elsewhere.status).toBe(200);
    expect((await app().request("GET", "/runs?limit=1", keyed("shared"))).status).toBe(200);
  });

  it("belongs to the member and not to one of the member's keys", async () => {
    const key = await app().member("mia", "operator");
    const { json } = await app().request("POST", "/api-keys", { body: { name: "second", member: "mia" } });
    const first = await app().request("POST", "/runs", { key, body: hello, ...keyed("two-keys") });
    const second = await app().request("POST", "/runs", { key: json.key, body: hello, ...keyed("two-keys") });
    expect(second.text).toBe(first.text);
  });

  it("is not replayed to a member who has lost the role", async () => {
    const key = await app().member("lost", "operator");
    expect((await app().request("POST", "/runs", { key, body: hello, ...keyed("demoted") })).status).toBe(
      202,
    );
    await app().request("PATCH", "/members/lost", { body: { role: "viewer" } });
    expect((await app().request("POST", "/runs", { key, body: hello, ...keyed("demoted") })).status).toBe(
      403,
    );
  });

  it("never stores an answer with a secret: a repetition is 409 and names the record", async () => {
    const first = await app().request("POST", "/api-keys", {
      body: { name: "shown once" },
      ...keyed("secret"),
    });
    const second = await app().request("POST", "/api-keys", {
      body: { name: "shown once" },
      ...keyed("secret"),
    });
    expect([first.status, second.status]).toEqual([201, 409]);
    expect(second.json.details).toEqual({ target: first.json.apiKey.id });
    expect(JSON.stringify(await app().db.read("idempotency_keys"))).not.toContain(first.json.key);
    expect(await count(app(), "api_keys", { name: "shown once" })).toBe(1);
  });
});

describe("a refusal with an Idempotency-Key", () => {
  const app = useApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });

  it("is kept when it is 404, 409 or 422", async () => {
    const ask = async (body: object, key: string, path = "/runs") => {
      const { status, text, headers } = await app().request("POST", path, { body, ...keyed(key) });
      return { status, text, replayed: headers.get("idempotency-replayed") };
    };
    const taken = { login: "taken", role: "viewer" };
    await app().request("POST", "/members", { body: taken });
    const first = [
      await ask({ agent: "later" }, "404"),
      await ask({ agent: "broken-on-purpose" }, "422"),
      await ask(taken, "409", "/members"),
    ];
    expect(first).toMatchObject([404, 422, 409].map((status) => ({ status, replayed: null })));

    const good = "framework: ai-sdk\nmodel: offline/echo\ninstructions: x\n";
    await app().commit({
      "agents/ai-sdk/later.yaml": `name: later\n${good}`,
      "agents/ai-sdk/broken-on-purpose.yaml": `name: broken-on-purpose\n${good}`,
    });
    await app().request("DELETE", "/members/taken");
    const again = [
      await ask({ agent: "later" }, "404"),
      await ask({ agent: "broken-on-purpose" }, "422"),
      await ask(taken, "409", "/members"),
    ];
    expect(again).toEqual(first.map((answer) => ({ ...answer, replayed: "true" })));
    expect((await ask({ agent: "later" }, "404-new")).status).toBe(202);
  });

  it("is not kept when it is 400, 401 or 403", async () => {
    const key = await app().member("vera", "viewer");
    const ask = (body: object, setup: object = {}) =>
      app().request("POST", "/runs", { key, body, ...keyed("not-kept"), ...setup });
    expect((await ask(hello, { key: null })).status).toBe(401);
    expect((await ask(hello)).status).toBe(403);
    await app().request("PATCH", "/members/vera", { body: { role: "operator" } });
    expect((await ask({ agent: 1 })).status).toBe(400);
    const last = await ask(hello);
    expect([last.status, last.headers.get("idempotency-replayed")]).toEqual([202, null]);
  });

  it("is not kept when it is a handler's own 403", async () => {
    const key = await app().member("hana", "operator");
    const ask = () =>
      app().request("POST", "/api-keys", { key, body: { name: "x", member: "admin" }, ...keyed("own-403") });
    expect((await ask()).status).toBe(403);
    await app().request("PATCH", "/members/hana", { body: { role: "workspace_admin" } });
    expect((await ask()).status).toBe(201);
  });
});

it("is not kept when it is 429", async () => {
  const app = await startApp({ env: { ROLLCALL_API_RATE_LIMIT: "1", ROLLCALL_ROLES: "web,scheduler" } });
  const fresh = await app.member("otto", "operator");
  const { apiKeys } = (await app.request("GET", "/api-keys")).json;
  expect(apiKeys.length).toBeGreaterThan(1);
  const other = await app.db.transaction((tx) =>
    app.access.apiKeys.create(tx, { workspaceId: app.workspaceId, member: "otto", name: "another" }),
  );
  const ask = (key: string) => app.request("POST", "/runs", { key, body: hello, ...keyed("limited") });
  await app.request("GET", "/agents", { key: fresh });
  expect((await ask(fresh)).status).toBe(429);
  const answer = await ask(other.key);
  expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([202, null]);
});
