import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { chatAppOwnership } from "../../../src/chat-apps/ownership.ts";
import { type ChatSetup, comeBack, here, pressButton, startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";

describe.each(databases())("managing chat apps on %s", (engine) => {
  it("makes them without calling anybody, and never shows a secret", async () => {
    const { app, slack, id } = await startWithChat({ engine, installed: false });
    expect(slack.calls).toEqual([]);
    const { json, text } = await app.request("GET", `/chat-apps/${id}`);
    expect(json.chatApp).toEqual({
      id,
      name: "Helper",
      platform: "slack",
      labels: [],
      agentLabels: ["chat"],
      defaultAgent: null,
      emailDomains: [],
      owner: "admin",
      enabled: true,
      state: "configuring",
      hasSecrets: true,
      eventsUrl: `http://127.0.0.1/api/hooks/chat/${id}`,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const second = await app.request("POST", "/chat-apps", { body: { name: "Second" } });
    expect([second.status, second.json.chatApp.hasSecrets]).toEqual([201, false]);
    expect((await app.request("POST", `/chat-apps/${second.json.chatApp.id}/install-link`)).status).toBe(422);
    const list = await app.request("GET", "/chat-apps?limit=1");
    expect(list.json).toEqual({ chatApps: [second.json.chatApp], nextBefore: second.json.chatApp.id });
    const tables = ["chat_apps", "chat_installs", "audit_log", "idempotency_keys"];
    const dump = JSON.stringify(await Promise.all(tables.map((table) => app.db.read(table)))) + text;
    for (const secret of [slack.clientSecret, slack.signingSecret]) {
      expect(dump).not.toContain(secret);
      expect(app.logs().join("\n")).not.toContain(secret);
    }
  });

  it("lets viewers read and only admins write", async () => {
    const { app, id } = await startWithChat({ engine, installed: false });
    const key = await app.member("olga", "operator");
    const statusOf = async (method: string, path: string, body?: unknown) =>
      (await app.request(method, path, { key, ...(body ? { body } : {}) })).status;
    expect(await statusOf("GET", "/chat-apps")).toBe(200);
    expect(await statusOf("GET", `/chat-apps/${id}/manifest`)).toBe(200);
    expect(await statusOf("POST", "/chat-apps", { name: "x" })).toBe(403);
    expect(await statusOf("PATCH", `/chat-apps/${id}`, { name: "x" })).toBe(403);
    expect(await statusOf("DELETE", `/chat-apps/${id}`)).toBe(403);
    expect(await statusOf("POST", `/chat-apps/${id}/install-link`)).toBe(403);
    expect((await app.request("GET", "/chat-apps/cha_none")).status).toBe(404);
  });

  it("changes all but the platform; another client id has to be installed again", async () => {
    const chat = await startWithChat({ engine });
    await chat.app.member("vera", "viewer");
    expect((await chat.change({ platform: "slack" })).status).toBe(400);
    expect((await chat.change({ owner: "vera" })).status).toBe(422);
    expect((await chat.change({ secrets: { clientId: "a b" } })).status).toBe(400);
    const changed = await chat.change({
      name: "New",
      labels: ["x"],
      secrets: { clientSecret: "other-secret" },
    });
    expect(changed.json.chatApp).toMatchObject({
      name: "New",
      labels: ["x"],
      state: "live",
      hasSecrets: true,
    });
    const [token = ""] = chat.slack.tokens;
    const other = await chat.change({ secrets: { clientId: "333.444" } });
    expect(other.json.chatApp).toMatchObject({ state: "configuring", stateReason: expect.any(String) });
    expect(other.json.chatApp.team).toBeUndefined();
    await expect.poll(() => chat.slack.tokens.includes(token)).toBe(false);
  });

  it("writes a manifest to paste", async () => {
    const { app, id } = await startWithChat({ engine, installed: false, body: { name: "N".repeat(60) } });
    const { json } = await app.request("GET", `/chat-apps/${id}/manifest`);
    expect(parse(json.yaml)).toEqual(json.manifest);
    expect(json.manifest).toMatchObject({
      display_information: { name: "N".repeat(35) },
      oauth_config: { redirect_urls: ["http://127.0.0.1/chat-apps/oauth/callback"] },
      settings: { event_subscriptions: { request_url: `http://127.0.0.1/api/hooks/chat/${id}` } },
    });
  });

  it("deletes them, has Slack take the token back, and ends what waits", async () => {
    const chat = await startWithChat({
      engine,
      agents: { one: { labels: ["chat"] }, two: { labels: ["chat"] } },
    });
    const thread = await chat.mention("which?");
    await chat.slack.message(({ threadTs }) => threadTs === thread);
    expect((await chat.app.request("DELETE", `/chat-apps/${chat.id}`)).status).toBe(204);
    await chat.settled();
    expect(await chat.deliveries()).toMatchObject([
      { state: "ignored", reason: "The chat app was deleted." },
    ]);
    await expect.poll(() => chat.slack.tokens).toEqual([]);
    const body = chat.slack.envelope({ type: "app_mention" });
    const late = await fetch(chat.eventsUrl, { method: "POST", body, headers: chat.slack.sign(body) });
    expect(late.status).toBe(401);
  });

  it("disables and hands over what a member owns", async () => {
    const { app, id } = await startWithChat({ engine, installed: false });
    await app.member("olga", "operator");
    const owned = chatAppOwnership({ clock: Date.now });
    const { db, workspaceId } = app;
    expect((await owned.ownedBy(db.read, workspaceId, "admin")).map((each) => each.id)).toEqual([id]);
    const twice = () => db.transaction((tx) => owned.release(tx, workspaceId, "admin", "admin has left."));
    expect([await twice(), await twice()]).toEqual([[id], []]);
    await db.transaction((tx) => owned.reassign(tx, workspaceId, "admin", "olga"));
    const { json } = await app.request("GET", `/chat-apps/${id}`);
    expect(json.chatApp).toMatchObject({ owner: "olga", enabled: false });
  });
});

describe.each(databases())("installing a chat app on %s", (engine) => {
  async function link(chat: Pick<ChatSetup, "app" | "id">) {
    const { json } = await chat.app.request("POST", `/chat-apps/${chat.id}/install-link`);
    return here(chat.app, json.url);
  }

  it("takes a link once; looking at it uses nothing up", async () => {
    const chat = await startWithChat({ engine, installed: false });
    const url = await link(chat);
    for (let n = 0; n < 2; n++) {
      const page = await fetch(url);
      expect(page.status).toBe(200);
      expect(await page.text()).toContain("Helper");
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    }
    const begun = await Promise.all([pressButton(url), pressButton(url)]);
    expect(begun.map(({ status }) => status).sort()).toEqual([303, 410]);
    expect((await fetch(url)).status).toBe(410);
    expect((await fetch(here(chat.app, "http://x/chat-apps/install?token=nothing"))).status).toBe(410);
    expect(chat.app.logs().join("\n")).not.toContain(new URL(url).searchParams.get("token"));
  });

  it("is refused once the time for the link, or for Slack's consent, is over", async () => {
    const chat = await startWithChat({ engine, installed: false });
    const expire = (column: string) =>
      chat.app.db.transaction((tx) => tx("chat_installs").update({ [column]: Date.now() - 1 }));
    const url = await link(chat);
    await expire("link_expires_at");
    expect([(await fetch(url)).status, (await pressButton(url)).status]).toEqual([410, 410]);
    const begun = await pressButton(await link(chat));
    const location = (await fetch(begun.url, { redirect: "manual" })).headers.get("location") ?? "";
    await expire("state_expires_at");
    expect((await comeBack(chat.app, location, begun.cookie)).status).toBe(400);
    expect(chat.slack.calls).toEqual([]);
  });

  it("is refused when whoever made the link is no admin any more", async () => {
    const chat = await startWithChat({ engine, installed: false });
    const key = await chat.app.member("olga", "workspace_admin");
    const made = () => chat.app.request("POST", `/chat-apps/${chat.id}/install-link`, { key });
    const [first, second] = [
      here(chat.app, (await made()).json.url),
      here(chat.app, (await made()).json.url),
    ];
    const begun = await pressButton(first);
    const location = (await fetch(begun.url, { redirect: "manual" })).headers.get("location") ?? "";
    await chat.app.request("PATCH", "/members/olga", { body: { role: "operator" } });
    expect([(await fetch(second)).status, (await pressButton(second)).status]).toEqual([410, 410]);
    expect((await comeBack(chat.app, location, begun.cookie)).status).toBe(400);
    expect(chat.slack.calls).toEqual([]);
  });

  it("is refused with a state of another browser, a used one, or none", async () => {
    const chat = await startWithChat({ engine, installed: false });
    const begun = await pressButton(await link(chat));
    expect(new URL(begun.url).searchParams.get("scope")).toContain("chat:write");
    const location = (await fetch(begun.url, { redirect: "manual" })).headers.get("location") ?? "";
    expect((await comeBack(chat.app, location, "")).status).toBe(400);
    expect((await comeBack(chat.app, location, "rollcall_chat_install=forged")).status).toBe(400);
    expect(chat.slack.calls).toEqual([]);
    const done = await comeBack(chat.app, location, begun.cookie);
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining("Acme")]);
    expect((await comeBack(chat.app, location, begun.cookie)).status).toBe(400);
    const { json } = await chat.app.request("GET", `/chat-apps/${chat.id}`);
    expect(json.chatApp).toMatchObject({ state: "live", team: { id: "T0ACME", name: "Acme" } });
    const [row] = await chat.app.db.read("chat_apps");
    expect(JSON.stringify(row)).not.toContain(chat.slack.tokens[0]);
    const audit = await chat.app.request("GET", "/audit-log");
    expect(audit.text).toContain("installChatApp");
  });

  it("stays configuring when Slack or its user says no", async () => {
    const chat = await startWithChat({ engine, installed: false });
    const statuses: number[] = [];
    const denied = await pressButton(await link(chat));
    const state = new URL(denied.url).searchParams.get("state");
    const back = `http://x/chat-apps/oauth/callback?error=access_denied&state=${state}`;
    statuses.push((await comeBack(chat.app, back, denied.cookie)).status);
    chat.slack.enterprise = true;
    statuses.push((await chat.install()).status);
    chat.slack.enterprise = false;
    await chat.change({ secrets: { clientSecret: "wrong" } });
    statuses.push((await chat.install()).status);
    expect(statuses).toEqual([409, 409, 409]);
    const { json } = await chat.app.request("GET", `/chat-apps/${chat.id}`);
    expect(json.chatApp.state).toBe("configuring");
    expect(chat.slack.called("oauth.v2.access")).toHaveLength(2);
  });
});
