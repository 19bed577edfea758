import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentFiles } from "../../support/run-requests.ts";
import { call, makeWebhook, signed } from "../../support/webhook-calls.ts";

const files = agentFiles({
  echo: { connections: ["ROLLCALL_CURRENT_TIME", "ROLLCALL_READ_FILE"] },
  other: {},
  broken: { model: 7 },
});
const ownSecret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

/** Everything that is in the database, as text. */
async function dump({ db }: TestApp): Promise<string> {
  const tables = ["webhooks", "audit_log", "idempotency_keys", "deliveries", "runs", "rate_limits"];
  return JSON.stringify(await Promise.all(tables.map((table) => db.read(table))));
}

describe.each(databases())("managing webhooks on %s", (engine) => {
  it("makes one, shows its token once and tells it from then on without", async () => {
    const app = await startApp({ engine, files });
    const { id, record, token } = await makeWebhook(app, "echo");
    expect(token).toMatch(/^rcw_[0-9A-Za-z]{36}$/);
    expect(record).toEqual({
      id: expect.stringMatching(/^whk_/),
      agent: "echo",
      name: "orders",
      owner: "admin",
      url: `http://127.0.0.1/api/hooks/webhook/${id}`,
      enabled: true,
      tools: null,
      signed: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const other = await makeWebhook(app, "echo", { name: "second" });
    await makeWebhook(app, "other");
    expect((await app.request("GET", `/webhooks/${id}`)).json).toEqual({ webhook: record });
    const { json } = await app.request("GET", "/agents/echo/webhooks?limit=1");
    expect(json).toEqual({ webhooks: [other.record], nextBefore: other.id });
    const rest = await app.request("GET", `/agents/echo/webhooks?before=${other.id}`);
    expect(rest.json).toEqual({ webhooks: [record], nextBefore: null });
    expect(await dump(app)).not.toContain(token);
    expect(app.logs().join("\n")).not.toContain(token);
  });

  it("refuses what does not fit, and agents, owners and tools that are not there", async () => {
    const app = await startApp({ engine, files });
    await app.member("vera", "viewer");
    const post = async (agent: string, body: unknown) =>
      (await app.request("POST", `/agents/${agent}/webhooks`, { body })).status;
    expect(await post("nobody", { name: "x" })).toBe(404);
    expect(await post("broken", { name: "x" })).toBe(201);
    for (const name of ["", " ", "a\nb", "a".repeat(101), 7, null])
      expect(await post("echo", { name }), String(name)).toBe(400);
    expect(await post("echo", { name: "a".repeat(100) })).toBe(201);
    expect(await post("echo", {})).toBe(400);
    expect(await post("echo", { name: "x", token: "mine" })).toBe(400);
    for (const owner of ["nobody", "vera"]) expect(await post("echo", { name: "x", owner })).toBe(422);
    expect(await post("echo", { name: "x", tools: ["ROLLCALL_CURRENT_TIME"] })).toBe(201);
    expect(await post("other", { name: "x", tools: ["ROLLCALL_CURRENT_TIME"] })).toBe(422);
    for (const signingSecret of ["secret", "whsec_", false, ownSecret.slice(6)])
      expect(await post("echo", { name: "x", signingSecret })).toBe(400);
    expect((await app.request("GET", "/agents/nobody/webhooks")).status).toBe(404);
    expect((await app.request("GET", "/agents/other/webhooks")).json.webhooks).toEqual([]);
    for (const [method, path] of [
      ["GET", "/webhooks/whk_none"],
      ["DELETE", "/webhooks/whk_none"],
      ["POST", "/webhooks/whk_none/rotate"],
    ] as const)
      expect((await app.request(method, path)).status).toBe(404);
  });

  it("lets operators do with their own what admins do with any", async () => {
    const app = await startApp({ engine, files });
    const [olga, otto, vera] = await Promise.all([
      app.member("olga", "operator"),
      app.member("otto", "operator"),
      app.member("vera", "viewer"),
    ]);
    const { id } = await makeWebhook(app, "echo", {}, { key: olga });
    const patch = async (key: string, body: unknown) =>
      (await app.request("PATCH", `/webhooks/${id}`, { key, body })).status;
    const post = async (key: string, body: unknown) =>
      (await app.request("POST", "/agents/echo/webhooks", { key, body })).status;
    expect(await post(vera, { name: "x" })).toBe(403);
    expect(await post(otto, { name: "x", owner: "olga" })).toBe(403);
    expect(await post(otto, { name: "x", owner: "otto" })).toBe(201);
    expect((await app.request("GET", `/webhooks/${id}`, { key: vera })).json.webhook.owner).toBe("olga");

    expect(await patch(otto, { enabled: false })).toBe(403);
    expect((await app.request("POST", `/webhooks/${id}/rotate`, { key: otto })).status).toBe(403);
    expect((await app.request("DELETE", `/webhooks/${id}`, { key: otto })).status).toBe(403);
    expect(await patch(olga, { owner: "otto" })).toBe(403);
    expect(await patch(olga, { owner: "olga", enabled: false, name: "new" })).toBe(200);
    expect(await patch(app.key, { owner: "vera" })).toBe(422);
    expect(await patch(app.key, { owner: "otto" })).toBe(200);
    expect(await patch(olga, { enabled: true })).toBe(403);
    expect(await patch(otto, { enabled: true, tools: [] })).toBe(200);
    const { webhook } = (await app.request("GET", `/webhooks/${id}`)).json;
    expect(webhook).toMatchObject({ owner: "otto", enabled: true, tools: [], name: "new" });
    expect((await app.request("DELETE", `/webhooks/${id}`, { key: otto })).status).toBe(204);
    expect((await app.request("GET", `/webhooks/${id}`)).status).toBe(404);
  });

  it("rotates the token, the signing secret or both; what was before stops at once", async () => {
    const app = await startApp({ engine, files });
    const made = await makeWebhook(app, "echo", { signingSecret: ownSecret });
    expect(made.signingSecret).toBeUndefined();
    const send = async (token: string, secret: string) =>
      (await call(app, made, { token, raw: "1", headers: signed(secret, "1") })).status;
    expect(await send(made.token, ownSecret)).toBe(202);

    const rotate = async (query = "") =>
      (await app.request("POST", `/webhooks/${made.id}/rotate${query}`)).json;
    const first = await rotate();
    expect(Object.keys(first)).toEqual(["webhook", "token"]);
    expect([await send(made.token, ownSecret), await send(first.token, ownSecret)]).toEqual([401, 202]);
    const second = await rotate("?secret=signing");
    expect(Object.keys(second)).toEqual(["webhook", "signingSecret"]);
    expect([await send(first.token, ownSecret), await send(first.token, second.signingSecret)]).toEqual([
      401, 202,
    ]);
    const third = await rotate("?secret=both");
    expect(await send(third.token, third.signingSecret)).toBe(202);
    expect((await app.request("POST", `/webhooks/${made.id}/rotate?secret=all`)).status).toBe(400);

    const patch = (body: unknown) => app.request("PATCH", `/webhooks/${made.id}`, { body });
    expect((await patch({ signingSecret: null })).json.webhook.signed).toBe(false);
    expect((await call(app, made, { token: third.token })).status).toBe(202);
    expect((await patch({ signingSecret: ownSecret })).json.webhook.signed).toBe(true);
    expect(await send(third.token, ownSecret)).toBe(202);

    const kept = (await dump(app)) + app.logs().join("\n");
    for (const secret of [
      made.token,
      first.token,
      third.token,
      ownSecret,
      second.signingSecret,
      third.signingSecret,
    ])
      expect(kept).not.toContain(secret);
    const shown =
      (await app.request("GET", "/agents/echo/webhooks")).text +
      (await app.request("GET", "/audit-log")).text;
    expect(shown).not.toMatch(/rcw_|whsec_/);
  });

  it("answers a repeated creation 409, since the token was shown already", async () => {
    const app = await startApp({ engine, files });
    const post = () =>
      app.request("POST", "/agents/echo/webhooks", {
        body: { name: "once" },
        headers: { "idempotency-key": "one" },
      });
    expect((await post()).status).toBe(201);
    const again = await post();
    expect([again.status, again.text.includes("rcw_")]).toEqual([409, false]);
    expect((await app.request("GET", "/agents/echo/webhooks")).json.webhooks.length).toBe(1);
  });
});
