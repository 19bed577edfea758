import { describe, expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../../src/platform/secrets.ts";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("API keys on %s", (engine) => {
  const database = useDatabase(engine);

  async function world({ rateLimit = 0 } = {}) {
    const workspace = await setUpWorkspace(database.db);
    const api = await startApi(workspace.access.endpoints([]), {
      db: database.db,
      rateLimit,
      ...workspace.access,
    });
    onTestFinished(async () => {
      await api.stop();
      await workspace.access.stop();
    });
    return { ...workspace, db: database.db, api };
  }

  test("a made key is shown once, works, and is stored as its hash", async () => {
    const { db, api, adminKey } = await world();
    const made = await api.call("POST", "/api-keys", { key: adminKey, body: { name: "laptop" } });
    expect(made.status).toBe(201);
    const { apiKey, key } = made.body;
    expect(key).toMatch(/^rck_[0-9A-Za-z]{36}$/);
    expect(apiKey).toEqual({
      id: expect.stringMatching(/^key_/),
      name: "laptop",
      member: "admin",
      preview: key.slice(0, 8),
      enabled: true,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastUsedAt: null,
      revokedAt: null,
      orphanedAt: null,
    });
    const listed = await api.call("GET", "/api-keys", { key });
    expect(listed.body.apiKeys[0]).toMatchObject({ id: apiKey.id });
    expect(JSON.stringify(listed.body)).not.toContain(key);
    const row = await db.read("api_keys").where({ id: apiKey.id }).first();
    expect(row.hash).toBe(sha256(key));
    for (const table of ["api_keys", "audit_log"]) {
      expect(JSON.stringify(await db.read(table))).not.toContain(key);
    }
  });

  test("members manage their own keys and see no others", async () => {
    const { api, adminKey, addMember } = await world();
    const key = await addMember("vera", "viewer");
    const admins = (await api.call("GET", "/api-keys", { key: adminKey })).body.apiKeys;
    const foreign = admins.find((apiKey: { member: string }) => apiKey.member === "admin").id;
    const mine = (await api.call("GET", "/api-keys", { key })).body.apiKeys;
    expect(mine.map((apiKey: { member: string }) => apiKey.member)).toEqual(["vera"]);
    expect(admins).toHaveLength(2);
    const call = async (method: string, path: string, body?: unknown) =>
      (await api.call(method, path, { key, body })).status;
    expect(await call("GET", "/api-keys?member=admin")).toBe(403);
    expect(await call("GET", "/api-keys?member=vera")).toBe(200);
    expect(await call("POST", "/api-keys", { name: "x", member: "admin" })).toBe(403);
    expect(await call("POST", "/api-keys", { name: "x", member: "vera" })).toBe(201);
    expect(await call("PATCH", `/api-keys/${foreign}`, { enabled: false })).toBe(404);
    expect(await call("DELETE", `/api-keys/${foreign}`)).toBe(404);
    expect(await call("PATCH", `/api-keys/${mine[0].id}`, { enabled: false })).toBe(200);
    expect(await call("GET", "/api-keys")).toBe(401);
  });

  test("an admin manages the keys of all", async () => {
    const { api, adminKey, addMember } = await world();
    const veras = await addMember("vera", "viewer");
    const asAdmin = (method: string, path: string, body?: unknown) =>
      api.call(method, path, { key: adminKey, body });
    const listed = await asAdmin("GET", "/api-keys?member=vera");
    expect(listed.body.apiKeys).toHaveLength(1);
    const { id } = listed.body.apiKeys[0];
    const made = await asAdmin("POST", "/api-keys", { name: "ci", member: "vera" });
    expect(made.body.apiKey.member).toBe("vera");
    expect((await asAdmin("POST", "/api-keys", { name: "ci", member: "nobody" })).status).toBe(404);
    const disabled = await asAdmin("PATCH", `/api-keys/${id}`, { enabled: false });
    expect(disabled.body.apiKey).toMatchObject({ id, enabled: false });
    expect((await api.call("GET", "/api-keys", { key: veras })).status).toBe(401);
    expect((await asAdmin("DELETE", `/api-keys/${id}`)).status).toBe(204);
    expect((await asAdmin("DELETE", `/api-keys/${id}`)).status).toBe(204);
    expect((await asAdmin("PATCH", `/api-keys/${id}`, { enabled: true })).status).toBe(409);
    const kept = (await asAdmin("GET", "/api-keys?member=vera")).body.apiKeys.at(-1);
    expect(kept).toMatchObject({ id, enabled: false, revokedAt: expect.any(String) });
    expect((await asAdmin("DELETE", "/api-keys/key_unknown")).status).toBe(404);
  });

  test("refuse what does not fit", async () => {
    const { api, adminKey } = await world();
    const bodies = [
      {},
      { name: "" },
      { name: " " },
      { name: "a\nb" },
      { name: "x".repeat(101) },
      { name: 1 },
    ];
    for (const body of [...bodies, { name: "x", member: "a b" }, { name: "x", key: "chosen" }]) {
      expect([body, (await api.call("POST", "/api-keys", { key: adminKey, body })).status]).toEqual([
        body,
        400,
      ]);
    }
    const patch = await api.call("PATCH", "/api-keys/key_1", { key: adminKey, body: { enabled: "no" } });
    expect(patch.status).toBe(400);
  });

  test("are paged, newest first", async () => {
    const { api, adminKey } = await world();
    for (let n = 0; n < 4; n++)
      await api.call("POST", "/api-keys", { key: adminKey, body: { name: `key ${n}` } });
    const names: string[] = [];
    let path = "/api-keys?limit=2";
    for (let pages = 0; pages < 3; pages++) {
      const { body } = await api.call("GET", path, { key: adminKey });
      names.push(...body.apiKeys.map((apiKey: { name: string }) => apiKey.name));
      if (body.nextBefore === null) break;
      path = `/api-keys?limit=2&before=${body.nextBefore}`;
    }
    expect(names).toEqual(["key 3", "key 2", "key 1", "key 0", "First key"]);
  });

  test("a repeated creation is 409 and names the key it cannot show again", async () => {
    const { api, db, adminKey } = await world();
    const request = { key: adminKey, body: { name: "once" }, headers: { "idempotency-key": "k-1" } };
    const made = await api.call("POST", "/api-keys", request);
    expect(made.status).toBe(201);
    const again = await api.call("POST", "/api-keys", request);
    expect([again.status, again.body.details]).toEqual([409, { target: made.body.apiKey.id }]);
    expect(JSON.stringify(again.body)).not.toContain(made.body.key);
    expect(JSON.stringify(await db.read("idempotency_keys"))).not.toContain(made.body.key);
    expect(await db.read("api_keys").where({ name: "once" })).toHaveLength(1);
  });

  test("a repeated addition of a member gets the first answer", async () => {
    const { api, db, adminKey } = await world();
    const request = { key: adminKey, body: { login: "vera", role: "viewer" } };
    const headers = { "idempotency-key": "k-1" };
    const add = () => api.call("POST", "/members", { ...request, headers });
    const answers = await Promise.all(Array.from({ length: 8 }, add));
    answers.push(await add());
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(answers.at(-1)?.headers.get("idempotency-replayed")).toBe("true");
    const other = { ...request, body: { login: "otto", role: "viewer" }, headers };
    expect((await api.call("POST", "/members", other)).status).toBe(409);
    expect(await db.read("audit_log").where({ action: "addMember", via: "api" })).toHaveLength(1);
  });

  test("each key has its own rate limit", async () => {
    const { api, adminKey, addMember } = await world({ rateLimit: 3 });
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await api.call("GET", "/api-keys", { key: adminKey }));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 429]);
    expect(answers[0]?.headers.get("ratelimit-limit")).toBe("3");
    expect(Number(answers[3]?.headers.get("retry-after"))).toBeGreaterThan(0);
    const key = await addMember("vera", "viewer");
    expect((await api.call("GET", "/api-keys", { key })).status).toBe(200);
  });

  test("no key is needed by, or shown in, the log", async () => {
    const { api, adminKey } = await world();
    await api.call("GET", `/api-keys?member=${adminKey}`, { key: adminKey });
    await api.call("PATCH", `/api-keys/${adminKey}`, { key: adminKey, body: { enabled: true } });
    const unknown = await api.call("GET", "/api-keys");
    expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(JSON.stringify(api.logged())).not.toContain(adminKey);
    expect(api.logged()).toContainEqual(expect.objectContaining({ member: "admin", status: 200 }));
  });
});
