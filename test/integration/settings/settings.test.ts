import { existsSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { createSealer } from "../../../src/platform/secrets.ts";
import { createSettings, type SettingsDeps, settingsEndpoints } from "../../../src/settings/index.ts";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

const oldKey = "an old sealing key of enough length";
const newKey = "a new sealing key of enough length!";
const secret = "canary-4711-provider-key";

describe.each(databases())("settings on %s", (engine) => {
  const database = useDatabase(engine);

  async function world(environment: SettingsDeps["environment"] = {}) {
    const workspace = await setUpWorkspace(database.db);
    const { access, adminKey, redactor, logger, workspaceId } = workspace;
    const integrationHookUrl = async () => "https://rollcall.example/api/hooks/integration/default";
    const deps = { db: database.db, clock: systemClock, redactor, logger, environment, integrationHookUrl };
    const settingsWith = (...keys: string[]) => createSettings({ ...deps, sealer: createSealer(keys) });
    const settings = settingsWith(oldKey);
    const api = await startApi(settingsEndpoints(settings), { db: database.db, ...access });
    onTestFinished(async () => {
      await api.stop();
      await access.stop();
    });
    const patch = (modelKeys: unknown) =>
      api.call("PATCH", "/settings", { key: adminKey, body: { modelKeys } });
    const get = async () => (await api.call("GET", "/settings", { key: adminKey })).body.settings.modelKeys;
    return { ...workspace, db: database.db, api, settings, settingsWith, patch, get, workspaceId };
  }

  test("start empty", async () => {
    const { get, settings, workspaceId } = await world();
    expect(await get()).toEqual({
      openai: { apiKey: { set: false }, baseUrl: null },
      anthropic: { apiKey: { set: false } },
      google: { apiKey: { set: false } },
      "openai-compatible": { apiKey: { set: false }, baseUrl: null },
      ollama: { baseUrl: null },
    });
    expect(await settings.modelKeys(workspaceId)).toEqual({
      openai: {},
      anthropic: {},
      google: {},
      "openai-compatible": {},
      ollama: {},
    });
  });

  test("what evals go by is set, changed and removed", async () => {
    const { api, adminKey, settings, workspaceId, db } = await world();
    const change = async (body: unknown) => {
      const { status } = await api.call("PATCH", "/settings", { key: adminKey, body });
      return status;
    };
    const defaults = { judgeModel: null, evalOwner: null, postStatus: true, evalCache: true };
    expect(await settings.evals(workspaceId)).toEqual(defaults);
    expect(await change({ judgeModel: "openai/gpt-5-mini", evalOwner: "otto" })).toBe(200);
    expect(await settings.evals(workspaceId)).toEqual({
      ...defaults,
      judgeModel: "openai/gpt-5-mini",
      evalOwner: "otto",
    });
    expect(await change({ evalOwner: null })).toBe(200);
    const shown = (await api.call("GET", "/settings", { key: adminKey })).body.settings;
    expect(shown).toMatchObject({ judgeModel: "openai/gpt-5-mini", evalOwner: null });
    for (const bad of [{ judgeModel: "gpt" }, { judgeModel: "" }, { evalOwner: "" }, { evalOwner: "a\nb" }])
      expect(await change(bad)).toBe(400);
    const [entry] = await db.read("audit_log").where({ action: "updateSettings" });
    expect(JSON.parse(entry.details)).toEqual({ set: ["judgeModel", "evalOwner"], removed: [] });
  });

  test("what agent changes go by is set, and is the default again when it is removed", async () => {
    const { api, adminKey, settings, workspaceId } = await world();
    const change = async (body: unknown) =>
      (await api.call("PATCH", "/settings", { key: adminKey, body })).status;
    const defaults = { model: null, commitMode: "pull_request" };
    expect(await settings.authoring(workspaceId)).toEqual(defaults);
    expect(await change({ model: "openai/gpt-5", commitMode: "direct" })).toBe(200);
    expect(await settings.authoring(workspaceId)).toEqual({ model: "openai/gpt-5", commitMode: "direct" });
    const shown = (await api.call("GET", "/settings", { key: adminKey })).body.settings;
    expect(shown).toMatchObject({ model: "openai/gpt-5", commitMode: "direct" });
    expect(await change({ model: null, commitMode: null })).toBe(200);
    expect(await settings.authoring(workspaceId)).toEqual(defaults);
    for (const bad of [{ model: "gpt" }, { commitMode: "push" }]) expect(await change(bad)).toBe(400);
  });

  test("switches of evals are on until they are switched off, and on again when they are removed", async () => {
    const { api, adminKey, settings, workspaceId, db } = await world();
    const change = (body: unknown) => api.call("PATCH", "/settings", { key: adminKey, body });
    const switches = async () => {
      const { postStatus, evalCache } = await settings.evals(workspaceId);
      const shown = (await api.call("GET", "/settings", { key: adminKey })).body.settings;
      expect(shown).toMatchObject({ postStatus, evalCache });
      return [postStatus, evalCache];
    };
    expect(await switches()).toEqual([true, true]);
    const off = await change({ postStatus: false });
    expect([off.status, off.body.settings.postStatus]).toEqual([200, false]);
    expect(await switches()).toEqual([false, true]);
    await change({ postStatus: true, evalCache: false });
    expect(await switches()).toEqual([true, false]);
    await change({ postStatus: false, evalCache: null });
    expect(await switches()).toEqual([false, true]);
    await change({ postStatus: null });
    expect(await switches()).toEqual([true, true]);
    expect(await db.read("settings")).toEqual([]);
    for (const bad of [{ postStatus: "false" }, { postStatus: 0 }, { evalCache: "on" }])
      expect((await change(bad)).status).toBe(400);
    const details = await db.read("audit_log").where({ action: "updateSettings" }).pluck("details");
    expect(details.map((text) => JSON.parse(text))).toContainEqual({
      set: ["postStatus"],
      removed: ["evalCache"],
    });
  });

  test("a key is set, used, replaced and removed, and never shown", async () => {
    const { get, patch, settings, workspaceId, redactor } = await world();
    const answer = await patch({ openai: { apiKey: secret, baseUrl: "https://llm.example/v1/" } });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
    expect((await get()).openai).toEqual({
      apiKey: { set: true, source: "workspace" },
      baseUrl: "https://llm.example/v1",
    });
    const { openai } = await settings.modelKeys(workspaceId);
    expect(openai).toEqual({ apiKey: secret, baseUrl: "https://llm.example/v1" });
    expect(redactor.scrub(`failed with ${secret}`)).toBe("failed with [redacted]");
    await patch({ openai: { apiKey: "another-key" } });
    expect((await settings.modelKeys(workspaceId)).openai.apiKey).toBe("another-key");
    await patch({ openai: { apiKey: null, baseUrl: null }, ollama: { baseUrl: null } });
    expect((await settings.modelKeys(workspaceId)).openai).toEqual({});
  });

  test("the environment stands in for what the workspace has not set", async () => {
    const { get, patch, settings, workspaceId } = await world({
      openai: { apiKey: "env-openai-key", baseUrl: "https://name:password@env.example" },
      anthropic: { apiKey: "env-anthropic-key" },
      ollama: { baseUrl: "http://127.0.0.1:11434" },
    });
    expect(await get()).toMatchObject({
      openai: { apiKey: { set: true, source: "environment" }, baseUrl: "https://env.example" },
      anthropic: { apiKey: { set: true, source: "environment" } },
      google: { apiKey: { set: false } },
    });
    await patch({ anthropic: { apiKey: "own-anthropic-key" } });
    expect(await settings.modelKeys(workspaceId)).toEqual({
      openai: { apiKey: "env-openai-key", baseUrl: "https://name:password@env.example" },
      anthropic: { apiKey: "own-anthropic-key" },
      google: {},
      "openai-compatible": {},
      ollama: { baseUrl: "http://127.0.0.1:11434" },
    });
    await patch({ anthropic: { apiKey: null } });
    expect((await settings.modelKeys(workspaceId)).anthropic.apiKey).toBe("env-anthropic-key");
  });

  test("the environment's key does not go to an address that the workspace chose", async () => {
    const { get, patch, settings, workspaceId } = await world({ openai: { apiKey: "env-openai-key" } });
    await patch({ openai: { baseUrl: "https://elsewhere.example" } });
    expect((await settings.modelKeys(workspaceId)).openai).toEqual({ baseUrl: "https://elsewhere.example" });
    expect((await get()).openai.apiKey).toEqual({ set: false });
  });

  test("no secret is in the database in clear, nor in the audit log or the log", async () => {
    const { db, patch, settings, workspaceId, api, lines } = await world();
    await patch({
      openai: { apiKey: secret },
      google: { apiKey: `${secret}-2` },
      anthropic: { apiKey: null },
    });
    await settings.modelKeys(workspaceId);
    const tables = [await db.read("settings"), await db.read("audit_log")];
    expect(JSON.stringify([tables, api.logged(), lines])).not.toContain(secret);
    const { config } = database;
    if (config.engine === "sqlite") {
      const files = [config.path, `${config.path}-wal`].filter((path) => existsSync(path));
      const bytes = Buffer.concat(files.map((path) => readFileSync(path)));
      expect(bytes.includes("modelKeys.openai.apiKey")).toBe(true);
      expect(bytes.includes(secret)).toBe(false);
    }
    const entry = await db.read("audit_log").where({ action: "updateSettings" }).first();
    expect(JSON.parse(entry.details)).toEqual({
      set: ["modelKeys.openai.apiKey", "modelKeys.google.apiKey"],
      removed: ["modelKeys.anthropic.apiKey"],
    });
  });

  test("a sealed text opens at no other place", async () => {
    const { db, patch, settings, workspaceId, lines } = await world({ google: { apiKey: "env-google-key" } });
    await patch({ openai: { apiKey: secret }, google: { apiKey: "google-key" } });
    expect((await settings.modelKeys(workspaceId)).openai.apiKey).toBe(secret);
    const { value } = await db.read("settings").where({ name: "modelKeys.openai.apiKey" }).first();
    await db.transaction((tx) => tx("settings").where({ name: "modelKeys.google.apiKey" }).update({ value }));
    const keys = await settings.modelKeys(workspaceId);
    expect([keys.openai.apiKey, keys.google.apiKey]).toEqual([secret, undefined]);
    await settings.modelKeys(workspaceId);
    const errors = lines.filter((line) => line.includes("cannot be opened"));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("modelKeys.google.apiKey");
  });

  test("sealing keys rotate", async () => {
    const { db, patch, get, settingsWith, workspaceId } = await world();
    await patch({ openai: { apiKey: secret }, google: { apiKey: "google-key" } });
    const rotating = settingsWith(newKey, oldKey);
    expect((await rotating.modelKeys(workspaceId)).openai.apiKey).toBe(secret);
    await db.transaction((tx) =>
      rotating.change(tx, workspaceId, { modelKeys: { openai: { apiKey: secret } } }),
    );
    const keys = await settingsWith(newKey).modelKeys(workspaceId);
    expect([keys.openai.apiKey, keys.google.apiKey]).toEqual([secret, undefined]);
    expect((await settingsWith(newKey).describe(workspaceId)).modelKeys).toMatchObject({
      openai: { apiKey: { set: true } },
      google: { apiKey: { set: false } },
    });
    // The service that still has only the old key sees the other half.
    expect(await get()).toMatchObject({
      openai: { apiKey: { set: false } },
      google: { apiKey: { set: true } },
    });
  });

  test("refuse what does not fit and keep nothing of it", async () => {
    const { db, patch } = await world();
    const bad = [
      { openai: { apiKey: "" } },
      { openai: { apiKey: "with space" } },
      { openai: { apiKey: "line\nend" } },
      { openai: { apiKey: "x".repeat(501) } },
      { openai: { apiKey: 1 } },
      { openai: { apiKey: "good-one", baseUrl: "ftp://host" } },
      { openai: { baseUrl: "https://user:password@host" } },
      { openai: { baseUrl: "https://user@host" } },
      { openai: { baseUrl: "javascript:alert(1)" } },
      { openai: { baseUrl: "https://ho st/" } },
      { openai: { baseUrl: " https://host" } },
      { openai: { baseUrl: "host" } },
      { anthropic: { baseUrl: "https://host" } },
      { ollama: { apiKey: "key-for-ollama" } },
      { mistral: { apiKey: "key-for-mistral" } },
    ];
    for (const modelKeys of bad)
      expect([modelKeys, (await patch(modelKeys)).status]).toEqual([modelKeys, 400]);
    expect(await db.read("settings")).toEqual([]);
    expect((await patch({})).status).toBe(200);
  });

  test("are an admin's business", async () => {
    const { api, addMember } = await world();
    const key = await addMember("olga", "operator");
    expect((await api.call("GET", "/settings", { key })).status).toBe(403);
    expect((await api.call("PATCH", "/settings", { key, body: {} })).status).toBe(403);
  });
});
