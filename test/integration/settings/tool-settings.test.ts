import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { createSealer } from "../../../src/platform/secrets.ts";
import { createSettings, settingsEndpoints } from "../../../src/settings/index.ts";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

const sealingKey = "a sealing key of enough length!!!";
const webhookUrl = "https://rollcall.example/api/hooks/integration/default";

describe.each(databases())("settings of outside tools on %s", (engine) => {
  const database = useDatabase(engine);

  async function world() {
    const { db } = database;
    const { access, adminKey, redactor, logger, workspaceId } = await setUpWorkspace(db);
    const settingsWith = (key: string) =>
      createSettings({
        db,
        clock: systemClock,
        redactor,
        logger,
        sealer: createSealer([key]),
        environment: {},
        integrationHookUrl: async () => webhookUrl,
      });
    const settings = settingsWith(sealingKey);
    const api = await startApi(settingsEndpoints(settings), { db, ...access });
    onTestFinished(async () => {
      await api.stop();
      await access.stop();
    });
    const patch = (body: unknown) => api.call("PATCH", "/settings", { key: adminKey, body });
    return { db, workspaceId, redactor, settings, settingsWith, patch };
  }

  test("the integration is set in parts and never shown", async () => {
    const { db, workspaceId, redactor, settings, patch } = await world();
    expect((await patch({})).body.settings.integration).toEqual({
      provider: "composio",
      apiKey: { set: false },
      webhookSecret: { set: false },
      webhookUrl,
    });
    const set = await patch({ integration: { provider: "composio", apiKey: "ak_canary_key" } });
    expect(set.body.settings.integration).toMatchObject({
      apiKey: { set: true },
      webhookSecret: { set: false },
    });
    const first = await settings.integration(workspaceId);
    expect(first).toMatchObject({ provider: "composio", apiKey: "ak_canary_key", webhookSecret: undefined });
    await patch({ integration: { webhookSecret: "hook-canary-secret" } });
    const second = await settings.integration(workspaceId);
    expect(second).toMatchObject({ apiKey: "ak_canary_key", webhookSecret: "hook-canary-secret" });
    expect(second.revision).toBe(first.revision);
    await patch({ integration: { apiKey: "ak_canary_key" } });
    expect((await settings.integration(workspaceId)).revision).not.toBe(first.revision);
    expect(redactor.scrub("ak_canary_key hook-canary-secret")).toBe("[redacted] [redacted]");
    const rows = JSON.stringify([await db.read("settings"), await db.read("audit_log")]);
    expect(rows).toContain("integration.webhookSecret");
    expect(rows).not.toContain("canary");
    await patch({ integration: { apiKey: null, webhookSecret: null } });
    expect(await settings.integration(workspaceId)).toMatchObject({
      apiKey: undefined,
      webhookSecret: undefined,
    });
  });

  test.each([
    { provider: "zapier" },
    { apiKey: "with space" },
    { apiKey: "" },
    { webhookSecret: "short" },
    { webhookUrl: "https://elsewhere.example" },
  ])("an integration of %j is refused", async (integration) => {
    const { patch } = await world();
    expect((await patch({ integration })).status).toBe(400);
  });

  test("headers of MCP servers are kept while their URL stays", async () => {
    const { db, workspaceId, redactor, settings, settingsWith, patch } = await world();
    const docs = { name: "docs", url: "https://docs.example/mcp" };
    const wiki = { name: "wiki", url: "http://10.0.0.1:8080/mcp?a=b" };
    const headers = { Authorization: "Bearer canary-token", "X-Team": "canary team" };
    const set = await patch({ mcpServers: [{ ...docs, headers }, wiki] });
    expect(set.body.settings.mcpServers).toEqual([
      { ...docs, headers: { authorization: { set: true }, "x-team": { set: true } } },
      { ...wiki, headers: {} },
    ]);
    expect(redactor.scrub("Bearer canary-token, canary-token, canary team")).not.toContain("canary");
    const stored = { authorization: "Bearer canary-token", "x-team": "canary team" };
    const [first] = await settings.mcpServers(workspaceId);
    expect(first).toMatchObject({ ...docs, headers: stored });
    await patch({ mcpServers: [docs] });
    expect(await settings.mcpServers(workspaceId)).toEqual([first]);
    expect(
      (await settingsWith("another key of enough length!!!!!").mcpServers(workspaceId))[0],
    ).toMatchObject({
      headers: undefined,
    });
    expect(JSON.stringify([await db.read("settings"), await db.read("audit_log")])).not.toContain("canary");
    const moved = await patch({ mcpServers: [{ ...docs, url: "https://attacker.example/mcp" }] });
    expect(moved.body.settings.mcpServers[0].headers).toEqual({});
    const [second] = await settings.mcpServers(workspaceId);
    expect(second).toMatchObject({ headers: {} });
    expect(second?.revision).not.toBe(first?.revision);
    await patch({ mcpServers: [docs] });
    expect((await settings.mcpServers(workspaceId))[0]?.headers).toEqual({});
    await patch({ mcpServers: [{ ...docs, headers }] });
    await patch({ mcpServers: [{ ...docs, headers: {} }] });
    expect((await settings.mcpServers(workspaceId))[0]?.headers).toEqual({});
    await patch({ mcpServers: [{ ...docs, headers }] });
    await patch({ mcpServers: null });
    expect(await settings.mcpServers(workspaceId)).toEqual([]);
    expect(await db.read("settings").where("name", "like", "mcpServers%")).toEqual([]);
  });

  test.each([
    { name: "Docs" },
    { name: "1docs" },
    { name: "a--b" },
    { name: "x".repeat(25) },
    { url: "file:///etc/passwd" },
    { url: "https://user:password@docs.example/" },
    { url: "docs.example" },
    { headers: { host: "x" } },
    { headers: { "Mcp-Session-Id": "x" } },
    { headers: { "bad name": "x" } },
    { headers: { authorization: "line\r\nbreak: x" } },
    { headers: { authorization: "" } },
    { headers: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, "v"])) },
  ])("an MCP server with %j is refused", async (wrong) => {
    const { patch } = await world();
    const server = { name: "docs", url: "https://docs.example/mcp", ...wrong };
    expect((await patch({ mcpServers: [server] })).status).toBe(400);
  });

  test("names of MCP servers are given once", async () => {
    const { patch } = await world();
    const server = { name: "docs", url: "https://docs.example/mcp" };
    expect((await patch({ mcpServers: [server, server] })).status).toBe(400);
  });
});
