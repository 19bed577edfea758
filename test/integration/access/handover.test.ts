import { describe, expect, test } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentFiles } from "../../support/run-requests.ts";
import { openConnections } from "../../support/workspace.ts";

const files = agentFiles({ echo: {} });
const kinds = ["automations", "webhooks", "triggers"] as const;

describe.each(databases())("handing over on %s", (engine) => {
  /** olga and otto are operators, vera is a viewer; olga owns something of each kind. */
  async function world() {
    const app = await startApp({ engine, files });
    const keys = {
      olga: await app.member("olga", "operator"),
      otto: await app.member("otto", "operator"),
      vera: await app.member("vera", "viewer"),
    };
    const create = async (path: string, body: object, key = keys.olga) => {
      const { status, json, text } = await app.request("POST", path, { key, body });
      if (status !== 201) throw new Error(`Refused with ${status}: ${text}`);
      return json;
    };
    const automation = { agent: "echo", schedule: "0 9 * * *" };
    const daily = (await create("/automations", automation)).automation;
    const off = (await create("/automations", { ...automation, enabled: false })).automation;
    await create("/automations", automation, keys.otto);
    const { webhook, token } = await create("/agents/echo/webhooks", { name: "CI" });
    await insertTrigger(app, "olga");
    const { chatApp } = await create("/chat-apps", { name: "Helper", owner: "olga" }, app.key);
    const find = async (table: string, owner: string) =>
      app.db.read(table).where({ owner }).orderBy("id").select("id", "enabled");
    const audited = async (action: string) =>
      (await app.request("GET", "/audit-log")).json.entries.filter(
        (entry: { action: string }) => entry.action === action,
      );
    return { app, keys, create, daily, off, webhook, token, chatApp, find, audited };
  }

  async function insertTrigger({ db, workspaceId }: TestApp, owner: string) {
    const row = { id: "trg_1", root_id: "trg_1", workspace_id: workspaceId, agent: "echo", owner };
    const subscription = {
      connection: "con_1",
      toolkit: "github",
      slug: "GITHUB_COMMIT_EVENT",
      config: "{}",
    };
    const state = { state: "active", provider_id: "ti_1", subscription_key: "k", live_key: "k", asked: 0 };
    const rest = { enabled: 1, revision: 1, failing: 0, created_at: 1, updated_at: 1 };
    await db.transaction((tx) => tx("triggers").insert({ ...row, ...subscription, ...state, ...rest }));
  }

  test("lists what a member owns, for workspace admins", async () => {
    const { app, keys, daily, off, webhook, chatApp } = await world();
    const path = "/members/olga/ownerships";
    const { json } = await app.request("GET", path);
    const label = "0 9 * * *";
    expect(json.ownerships).toEqual({
      automations: [
        { id: daily.id, agent: "echo", label, enabled: true },
        { id: off.id, agent: "echo", label, enabled: false },
      ],
      webhooks: [{ id: webhook.id, agent: "echo", label: "CI", enabled: true }],
      triggers: [{ id: "trg_1", agent: "echo", label: "GITHUB_COMMIT_EVENT", enabled: true }],
      chatApps: [{ id: chatApp.id, agent: null, label: "Helper", enabled: true }],
      apiKeys: 1,
    });
    expect((await app.request("GET", path, { key: keys.otto })).status).toBe(403);
    expect((await app.request("GET", "/members/nobody/ownerships")).status).toBe(404);
    const nothing = (await app.request("GET", "/members/vera/ownerships")).json.ownerships;
    expect(nothing).toEqual({ automations: [], webhooks: [], triggers: [], chatApps: [], apiKeys: 1 });
  });

  test("a removal pauses and disables what the member owns, and says why", async () => {
    const { app, daily, off, token, webhook, audited } = await world();
    expect((await app.request("DELETE", "/members/olga")).status).toBe(204);
    const find = async (id: string) => (await app.request("GET", `/automations/${id}`)).json.automation;
    expect(await find(daily.id)).toMatchObject({
      status: "paused",
      statusReason: "olga is not a member any more.",
      nextRunAt: null,
      owner: "olga",
    });
    expect(await find(off.id)).toMatchObject({ status: "disabled" });
    const called = await fetch(`${app.url}/api/hooks/webhook/${webhook.id}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}",
    });
    expect(called.status).toBe(403);
    expect(await app.db.read("triggers").where({ id: "trg_1" }).first()).toMatchObject({
      enabled: 0,
      disabled_reason: expect.stringContaining("olga is not a member any more."),
    });
    expect((await audited("removeMember"))[0]).toMatchObject({
      target: "olga",
      details: {
        before: "operator",
        automations: "pause",
        stopped: { automations: 1, webhooks: 1, triggers: 1, chatApps: 1 },
      },
    });
    // Who is gone still owns things, and they can be handed over.
    expect((await app.request("GET", "/members/olga/ownerships")).json.ownerships).toMatchObject({
      automations: [{ enabled: true }, { enabled: false }],
      apiKeys: 0,
    });
    const handed = await app.request("POST", "/members/olga/handover", { body: { to: "otto" } });
    expect(handed.status).toBe(200);
    expect((await app.request("GET", "/members/olga/ownerships")).status).toBe(404);
    // A pause ends when its new owner says so.
    expect(await find(daily.id)).toMatchObject({ owner: "otto", status: "paused" });
  });

  test("a removal can give everything to another member", async () => {
    const { app, daily, off, find, audited } = await world();
    const { status } = await app.request("DELETE", "/members/olga?automations=reassign&to=otto");
    expect(status).toBe(204);
    const { json } = await app.request("GET", `/automations/${daily.id}`);
    expect(json.automation).toMatchObject({ owner: "otto", status: "enabled", nextRunAt: daily.nextRunAt });
    expect((await find("automations", "otto")).map(({ id }) => id)).toEqual(
      expect.arrayContaining([daily.id, off.id]),
    );
    expect(await find("webhooks", "otto")).toMatchObject([{ enabled: 1 }]);
    // Its connection was olga's.
    expect(await find("triggers", "otto")).toMatchObject([{ enabled: 0 }]);
    expect(await find("chat_apps", "otto")).toMatchObject([{ enabled: 1 }]);
    for (const table of kinds) expect(await find(table, "olga")).toEqual([]);
    expect((await audited("removeMember"))[0].details).toEqual({
      before: "operator",
      automations: "reassign",
      to: "otto",
      reassigned: { automations: 2, webhooks: 1, triggers: 1, chatApps: 1 },
    });
  });

  test.each([
    ["?automations=reassign", 400],
    ["?automations=keep", 400],
    ["?to=otto", 400],
    ["?automations=pause&to=otto", 400],
    ["?automations=reassign&to=olga", 422],
    ["?automations=reassign&to=vera", 422],
    ["?automations=reassign&to=nobody", 422],
  ])("a removal with %s is refused with %i and changes nothing", async (query, status) => {
    const { app, find } = await world();
    const before = await app.request("GET", "/members/olga/ownerships");
    expect((await app.request("DELETE", `/members/olga${query}`)).status).toBe(status);
    expect((await app.request("GET", "/members/olga/ownerships")).json).toEqual(before.json);
    expect(await find("automations", "olga")).toHaveLength(2);
    expect((await app.request("GET", "/members")).json.members).toHaveLength(4);
  });

  test("the last admin stays, with all that is the admin's", async () => {
    const { app, create, find } = await world();
    await create("/automations", { agent: "echo", schedule: "@daily" }, app.key);
    for (const query of ["", "?automations=reassign&to=otto"])
      expect((await app.request("DELETE", `/members/admin${query}`)).status).toBe(409);
    expect(await find("automations", "admin")).toMatchObject([{ enabled: 1 }]);
  });

  test("a dry run tells what a handover does, and changes nothing", async () => {
    const { app, find, audited } = await world();
    const hand = (dryRun: boolean) =>
      app.request("POST", "/members/olga/handover", { body: { to: "otto", dryRun } });
    const owned = (await app.request("GET", "/members/olga/ownerships")).json;
    const dry = await hand(true);
    expect(dry.json.handover).toMatchObject({
      from: "olga",
      to: "otto",
      dryRun: true,
      webhooks: [{ label: "CI", enabled: true }],
      triggers: [{ id: "trg_1", enabled: false }],
    });
    expect((await app.request("GET", "/members/olga/ownerships")).json).toEqual(owned);
    expect(await audited("handOver")).toEqual([]);
    const done = await hand(false);
    expect(done.json.handover).toEqual({ ...dry.json.handover, dryRun: false });
    for (const kind of kinds) {
      expect(await find(kind, "olga")).toEqual([]);
      for (const { id, enabled } of done.json.handover[kind])
        expect(await find(kind, "otto")).toContainEqual({ id, enabled: enabled ? 1 : 0 });
    }
    expect((await audited("handOver"))[0]).toMatchObject({
      target: "olga",
      details: { to: "otto", reassigned: { automations: 2, webhooks: 1, triggers: 1, chatApps: 1 } },
    });
    // olga is a member still; there is nothing left to give.
    expect((await hand(false)).json.handover).toMatchObject({ automations: [], webhooks: [], triggers: [] });
  });

  test.each([
    [{ to: "vera" }, 422],
    [{ to: "nobody" }, 422],
    [{ to: "olga" }, 422],
    [{}, 400],
    [{ to: "otto", dryRun: "yes" }, 400],
  ])("a handover with %j is refused with %i, dry or not", async (body, status) => {
    const { app, keys, find } = await world();
    for (const each of [body, { dryRun: true, ...body }])
      expect((await app.request("POST", "/members/olga/handover", { body: each })).status).toBe(status);
    const unknown = await app.request("POST", "/members/nobody/handover", { body: { to: "otto" } });
    const foreign = await app.request("POST", "/members/olga/handover", {
      body: { to: "otto" },
      key: keys.otto,
    });
    expect([unknown.status, foreign.status]).toEqual([404, 403]);
    expect(await find("automations", "olga")).toHaveLength(2);
  });

  test("a role below operator pauses nothing by itself, but the schedule does not fire", async () => {
    const { app, daily } = await world();
    await app.request("PATCH", "/members/olga", { body: { role: "viewer" } });
    const path = `/automations/${daily.id}`;
    expect((await app.request("GET", path)).json.automation.status).toBe("enabled");
    expect((await app.request("PATCH", path, { body: { enabled: false } })).status).toBe(200);
    expect((await app.request("PATCH", path, { body: { enabled: true } })).status).toBe(422);
  });

  test.each(["", "?automations=reassign&to=otto"])(
    "nothing slips past a removal at the same moment: DELETE %s",
    async (query) => {
      const { app } = await world();
      await openConnections(app.db);
      const tally = { made: 0, refused: 0 };
      for (let round = 0; round < 12; round++) {
        const login = `member-${round}`;
        const key = await app.member(login, "operator");
        const body = { agent: "echo", schedule: "0 9 * * *" };
        const first = (await app.request("POST", "/automations", { key, body })).json.automation;
        const answers = await Promise.all([
          app.request("POST", "/automations", { key, body }),
          app.request("PATCH", `/automations/${first.id}`, { body: { enabled: false } }),
          app.request("PATCH", `/automations/${first.id}`, { body: { enabled: true } }),
          app.request("DELETE", `/members/${login}${query}`),
          app.request("POST", "/automations", { key, body }),
          app.request("POST", "/automations", { body: { ...body, owner: login } }),
        ]);
        for (const { status } of answers) expect([200, 201, 204, 403, 422]).toContain(status);
        expect(answers[3]?.status).toBe(204);
        tally.made += answers.filter(({ status }) => status === 201).length;
        tally.refused += answers.filter(({ status }) => status === 422 || status === 403).length;
        const left = await app.db.read("automations").where({ owner: login });
        if (query === "")
          expect(left.filter((row) => row.enabled === 1 && row.paused_reason === null)).toEqual([]);
        else expect(left).toEqual([]);
      }
      expect(tally.made + tally.refused).toBeGreaterThan(30);
    },
  );
});
