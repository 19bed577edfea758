import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { arbitraryJunk } from "../../support/arbitrary-json.ts";
import { databases } from "../../support/databases.ts";
import { agentFiles, endedRun } from "../../support/run-requests.ts";
import { call, makeWebhook, signed } from "../../support/webhook-calls.ts";

const files = agentFiles({ echo: {} });

const stored = async ({ db }: TestApp) => ({
  deliveries: (await db.read("deliveries").pluck("id")).length,
  runs: (await db.read("runs").pluck("id")).length,
});

describe.each(databases())("calls of a webhook on %s", (engine) => {
  it("end as one run each, whose message is the envelope of what was sent", async () => {
    const app = await startApp({ engine, files });
    await app.member("olga", "operator");
    const webhook = await makeWebhook(app, "echo", { owner: "olga" });
    const raw = '{ "total": 12345678901234567890.10,\n "items": [1, 2], "items": [] }';
    const { status, json, headers } = await call(app, webhook, { raw });
    expect([status, json]).toEqual([
      202,
      {
        ok: true,
        run_id: expect.stringMatching(/^run_/),
        delivery_id: expect.stringMatching(/^dlv_/),
      },
    ]);
    expect(headers.get("ratelimit-limit")).toBe("60");
    const message =
      '{"trigger_type":"webhook","webhook":"orders","payload":{"total":12345678901234567890.10,"items":[1,2],"items":[]}}';
    expect(await endedRun(app, json.run_id)).toMatchObject({
      agent: "echo",
      status: "succeeded",
      message,
      output: message,
      trigger: "webhook",
      source: "Event",
      runAs: "olga",
      webhookId: webhook.id,
      version: "draft",
    });
    expect(await stored(app)).toEqual({ deliveries: 1, runs: 1 });
    const [row] = await app.db.read("deliveries");
    expect(row).toMatchObject({
      id: json.delivery_id,
      source: "webhook",
      state: "done",
      run_id: json.run_id,
    });
    expect(Buffer.from(row.payload).toString()).toBe(raw);
  });

  it("run the stable version once there is one", async () => {
    const app = await startApp({ engine, files });
    const webhook = await makeWebhook(app, "echo");
    const versionOf = async () => {
      const { json } = await call(app, webhook);
      return (await app.request("GET", `/runs/${json.run_id}`)).json.run.version;
    };
    expect(await versionOf()).toBe("draft");
    await app.db.transaction(async (tx) => {
      const agent = await tx("agents").where({ name: "echo" }).first();
      await tx("agent_versions").insert({
        workspace_id: app.workspaceId,
        agent: "echo",
        number: 1,
        framework: agent.framework,
        spec_sha: agent.spec_sha,
        eval_sha: null,
        commit_sha: agent.commit_sha,
        stable: 1,
        promoted_by: "admin",
        created_at: Date.now(),
      });
    });
    expect(await versionOf()).toBe("1");
  });

  it("are checked in the order token, enabled, rate, body", async () => {
    // Windows are whole minutes: what would cross into the next one begins with it.
    const left = 60_000 - (Date.now() % 60_000);
    if (left < 15_000) await sleep(left + 10);
    const app = await startApp({ engine, files, env: { ROLLCALL_WEBHOOK_RATE_LIMIT: "3" } });
    const webhook = await makeWebhook(app, "echo");
    const other = await makeWebhook(app, "echo", { name: "other" });
    const enable = (enabled: boolean) =>
      app.request("PATCH", `/webhooks/${webhook.id}`, { body: { enabled } });
    const bad = { raw: "no json" };
    await enable(false);
    for (const token of [null, "", "rcw_x", other.token, `${webhook.token} x`, app.key]) {
      const { status, headers, json } = await call(app, webhook, { ...bad, token });
      expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(Object.keys(json)).toEqual(["error"]);
    }
    expect((await call(app, webhook, bad)).status).toBe(403);
    await enable(true);
    const known = await call(app, webhook, { token: "rcw_x" });
    for (const id of ["whk_unknown", "..%2f", "%00", "a".repeat(500)]) {
      const unknown = await call(app, { id, token: webhook.token });
      expect([unknown.status, unknown.text]).toEqual([401, known.text]);
    }
    // None of those has used up anything.
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await call(app, webhook, n === 1 ? bad : {})).status);
    expect(statuses).toEqual([202, 400, 202]);
    const refused = await call(app, webhook, bad);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("ratelimit-remaining")).toBe("0");
    expect((await call(app, other)).status).toBe(202);
    expect(await stored(app)).toEqual({ deliveries: 3, runs: 3 });
  });

  it("are refused by other methods, types, encodings and sizes, and nothing is stored", async () => {
    const app = await startApp({ engine, files, env: { ROLLCALL_WEBHOOK_RATE_LIMIT: "0" } });
    const webhook = await makeWebhook(app, "echo");
    const status = async (setup: Parameters<typeof call>[2]) => (await call(app, webhook, setup)).status;
    expect(await status({ headers: { "content-type": "text/plain" } })).toBe(415);
    expect(await status({ headers: { "content-encoding": "gzip" } })).toBe(415);
    expect(await status({ raw: new Uint8Array([0x22, 0xff, 0x22]) })).toBe(400);
    expect(await status({ raw: "" })).toBe(400);
    const mebibyte = 1024 * 1024;
    expect(await status({ raw: `"${"x".repeat(mebibyte - 1)}"` })).toBe(413);
    const get = await fetch(`${app.url}/api/hooks/webhook/${webhook.id}`);
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await stored(app)).toEqual({ deliveries: 0, runs: 0 });
    expect(await status({ headers: { "content-type": undefined } })).toBe(202);
    expect(await status({ raw: `"${"x".repeat(mebibyte - 2)}"` })).toBe(202);
    expect(await stored(app)).toEqual({ deliveries: 2, runs: 2 });
  });

  it("are taken with any JSON and refused with 400 otherwise, whatever the bytes", async () => {
    const app = await startApp({
      engine,
      files,
      env: { ROLLCALL_WEBHOOK_RATE_LIMIT: "0", ROLLCALL_ROLES: "web,scheduler" },
    });
    const webhook = await makeWebhook(app, "echo");
    const bodies = fc.oneof(
      arbitraryJunk().map((value) => new TextEncoder().encode(JSON.stringify(value, null, 1))),
      fc.uint8Array({ maxLength: 50 }),
      fc.json({ maxDepth: 3 }).map((json) => new TextEncoder().encode(json.slice(0, -1))),
    );
    let taken = 0;
    const send = async (bytes: Uint8Array<ArrayBuffer>) => {
      const { status, json } = await call(app, webhook, { raw: bytes });
      let payload: unknown;
      try {
        payload = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      } catch {
        expect([status, Object.keys(json)]).toEqual([400, ["error"]]);
        return;
      }
      expect(status).toBe(202);
      taken++;
      const { message } = await app.db.read("runs").where({ id: json.run_id }).first("message");
      expect(JSON.parse(message)).toEqual({ trigger_type: "webhook", webhook: "orders", payload });
    };
    await fc.assert(fc.asyncProperty(bodies as fc.Arbitrary<Uint8Array<ArrayBuffer>>, send), {
      numRuns: 150,
    });
    expect(await stored(app)).toEqual({ deliveries: taken, runs: taken });
  });

  it("need a fresh and fitting signature once the webhook has a signing secret", async () => {
    const app = await startApp({ engine, files });
    const webhook = await makeWebhook(app, "echo", { signingSecret: true });
    const { signingSecret = "" } = webhook;
    const send = async (headers: Record<string, string | undefined>, raw = "{}") =>
      (await call(app, webhook, { raw, headers })).status;
    expect(await send({})).toBe(401);
    expect(await send(signed(signingSecret, "[]"))).toBe(401);
    expect(await send(signed(signingSecret, "{}", { at: Date.now() - 301_000 }))).toBe(401);
    expect(await send({ ...signed(signingSecret, "{}"), "webhook-id": "msg_other" })).toBe(401);
    const token = { authorization: "Bearer rcw_x" };
    expect(await send({ ...signed(signingSecret, "{}"), ...token })).toBe(401);
    expect(await send(signed(signingSecret, "{}"))).toBe(202);
    expect(await stored(app)).toEqual({ deliveries: 1, runs: 1 });
  });

  it("are told again when they come again under the same key or webhook-id", async () => {
    const app = await startApp({ engine, files, env: { ROLLCALL_WEBHOOK_RATE_LIMIT: "0" } });
    const [webhook, other] = [await makeWebhook(app, "echo"), await makeWebhook(app, "echo", { name: "b" })];
    const keyed = (key: string, payload: unknown = 1) => ({ payload, headers: { "idempotency-key": key } });
    const first = await call(app, webhook, keyed("one"));
    const again = await call(app, webhook, keyed("one"));
    expect([again.status, again.json]).toEqual([202, first.json]);
    expect([first, again].map((each) => each.headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    expect((await call(app, webhook, keyed("one", 2))).status).toBe(409);
    expect((await call(app, webhook, keyed("with space"))).status).toBe(400);
    expect((await call(app, webhook, keyed("x".repeat(256)))).status).toBe(400);
    const elsewhere = await call(app, other, keyed("one"));
    expect(elsewhere.json.run_id).not.toBe(first.json.run_id);

    const both = { "idempotency-key": "k1", "webhook-id": "one" };
    const sent = await call(app, webhook, { payload: 1, headers: both });
    expect(sent.json.run_id).not.toBe(first.json.run_id);
    for (const headers of [
      { "webhook-id": "one" },
      { "idempotency-key": "k1" },
      { ...both, "idempotency-key": "k2" },
    ])
      expect((await call(app, webhook, { payload: 1, headers })).json).toEqual(sent.json);
    // Refusals are not remembered.
    expect((await call(app, webhook, { raw: "{", headers: { "idempotency-key": "k3" } })).status).toBe(400);
    expect((await call(app, webhook, keyed("k3"))).status).toBe(202);
    expect((await app.db.read("deliveries").whereNotNull("sender_id").pluck("sender_id")).sort()).toEqual(
      ["k1", "k3", "one", "one"].sort(),
    );
  });

  it("make one run when twenty twins come at the same moment", async () => {
    const app = await startApp({ engine, files });
    const webhook = await makeWebhook(app, "echo");
    const twins = await Promise.all(
      Array.from({ length: 20 }, () => call(app, webhook, { headers: { "idempotency-key": "twin" } })),
    );
    expect(twins.map(({ status }) => status)).toEqual(Array(20).fill(202));
    expect(new Set(twins.map(({ text }) => text)).size).toBe(1);
    expect(twins.filter(({ headers }) => headers.get("idempotency-replayed") === null).length).toBe(1);
    expect(await stored(app)).toEqual({ deliveries: 1, runs: 1 });
  });

  it("are noted with the webhook, to the minute", async () => {
    const app = await startApp({ engine, files });
    const webhook = await makeWebhook(app, "echo");
    await call(app, webhook);
    const noted = async () => (await app.request("GET", `/webhooks/${webhook.id}`)).json.webhook.lastCalledAt;
    await expect.poll(noted, { timeout: 10_000 }).toMatch(/^20/);
  });
});
