import { describe, expect, onTestFinished, test } from "vitest";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("audit log on %s", (engine) => {
  const database = useDatabase(engine);

  async function world() {
    const workspace = await setUpWorkspace(database.db);
    const api = await startApi(workspace.access.endpoints([]), { db: database.db, ...workspace.access });
    onTestFinished(async () => {
      await api.stop();
      await workspace.access.stop();
    });
    const asAdmin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      api.call(method, path, { key: workspace.adminKey, body, headers });
    const entries = async (query = "") => (await asAdmin("GET", `/audit-log${query}`)).body.entries;
    return { ...workspace, db: database.db, api, asAdmin, entries };
  }

  test("tells who did what through which request", async () => {
    const { asAdmin, entries } = await world();
    await asAdmin("POST", "/members", { login: "vera", role: "viewer" }, { "x-request-id": "my-request" });
    await asAdmin("PATCH", "/members/vera", { role: "operator" });
    await asAdmin("DELETE", "/members/vera");
    const [removed, changed, added, first] = await entries();
    expect(added).toEqual({
      id: expect.stringMatching(/^aud_/),
      at: expect.stringMatching(/Z$/),
      actor: "admin",
      via: "api",
      action: "addMember",
      target: "vera",
      details: { role: "viewer" },
      requestId: "my-request",
    });
    expect(changed).toMatchObject({
      action: "changeMemberRole",
      details: { role: "operator", before: "viewer" },
    });
    expect(removed).toMatchObject({
      action: "removeMember",
      target: "vera",
      details: { before: "operator" },
    });
    expect(first).toMatchObject({
      actor: "rollcall:system",
      via: "system",
      target: "admin",
      requestId: null,
    });
  });

  test("is filtered and paged", async () => {
    const { asAdmin, entries } = await world();
    for (let n = 0; n < 3; n++) await asAdmin("POST", "/members", { login: `m${n}`, role: "viewer" });
    await asAdmin("POST", "/api-keys", { name: "x" });
    expect(await entries("?action=createApiKey")).toHaveLength(1);
    expect(await entries("?actor=rollcall:system")).toHaveLength(1);
    expect(await entries("?actor=nobody")).toEqual([]);
    const first = (await asAdmin("GET", "/audit-log?limit=2&actor=admin")).body;
    const second = (await asAdmin("GET", `/audit-log?limit=2&actor=admin&before=${first.nextBefore}`)).body;
    const targets = [...first.entries, ...second.entries].map((entry: { target: string }) => entry.target);
    expect(targets).toEqual([expect.stringMatching(/^key_/), "m2", "m1", "m0"]);
    expect(second.nextBefore).toBeNull();
  });

  test("has nothing of a write that was refused or failed", async () => {
    const { db, access, workspaceId, asAdmin } = await world();
    const before = await db.read("audit_log");
    await asAdmin("POST", "/members", { login: "admin", role: "viewer" });
    await asAdmin("DELETE", "/members/admin");
    await asAdmin("POST", "/members", { login: "not a login", role: "viewer" });
    const failing = db.transaction(async (tx) => {
      const { table, row } = access.systemAuditRow({ workspaceId, via: "system", action: "x", target: "y" });
      await tx(table).insert(row);
      throw new Error("the write itself fails");
    });
    await expect(failing).rejects.toThrow("the write itself fails");
    expect(await db.read("audit_log")).toEqual(before);
  });

  test("a write whose entry cannot be kept is not made", async () => {
    const { db, access, adminKey } = await world();
    const broken = await startApi(access.endpoints([]), {
      db,
      authenticate: access.authenticate,
      auditRow: (entry) => {
        const { table, row } = access.auditRow(entry);
        return { table, row: { ...row, workspace_id: null } };
      },
    });
    onTestFinished(broken.stop);
    const body = { login: "vera", role: "viewer" };
    expect((await broken.call("POST", "/members", { key: adminKey, body })).status).toBe(500);
    expect(await db.read("members").where({ login: "vera" })).toEqual([]);
  });

  test("entries fit their columns and hold no secret, whatever they are told", async () => {
    const { db, access, workspaceId, adminKey, redactor, entries } = await world();
    redactor.register("hunter2-hunter2");
    const tell = (target: string, details: Record<string, unknown>) =>
      db.transaction(async (tx) => {
        const entry = { workspaceId, via: "cli", action: "a".repeat(300), target, details } as const;
        const { table, row } = access.systemAuditRow(entry);
        await tx(table).insert(row);
      });
    await tell(`${"t".repeat(254)}🙂`, { note: `key ${adminKey} and hunter2-hunter2` });
    await tell("long", { text: "ä".repeat(5_000), other: 1 });
    const [long, short] = await entries();
    expect(short.details).toEqual({ note: "key [redacted] and [redacted]" });
    expect(short.target).toBe(`${"t".repeat(254)}\ufffd`);
    expect(short.action).toHaveLength(191);
    expect(long.details).toEqual({ omitted: "Longer than 8 KB.", fields: ["text", "other"] });
  });
});
