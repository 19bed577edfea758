import { describe, expect, onTestFinished, test } from "vitest";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { openConnections, setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("members on %s", (engine) => {
  const database = useDatabase(engine);

  async function world() {
    const workspace = await setUpWorkspace(database.db);
    const api = await startApi(workspace.access.endpoints([]), { db: database.db, ...workspace.access });
    onTestFinished(async () => {
      await api.stop();
      await workspace.access.stop();
    });
    const asAdmin = (method: string, path: string, body?: unknown) =>
      api.call(method, path, { key: workspace.adminKey, body });
    return { ...workspace, db: database.db, api, asAdmin };
  }

  test("are listed, added, changed and removed", async () => {
    const { asAdmin } = await world();
    const added = await asAdmin("POST", "/members", { login: "a.b_c-9", role: "viewer" });
    expect([added.status, added.body]).toEqual([
      201,
      { member: { login: "a.b_c-9", role: "viewer", createdAt: expect.any(String) } },
    ]);
    const changed = await asAdmin("PATCH", "/members/a.b_c-9", { role: "operator" });
    expect([changed.status, changed.body.member.role]).toEqual([200, "operator"]);
    const { body } = await asAdmin("GET", "/members");
    expect(body.members.map(({ login, role }: { login: string; role: string }) => [login, role])).toEqual([
      ["a.b_c-9", "operator"],
      ["admin", "workspace_admin"],
    ]);
    const removed = await asAdmin("DELETE", "/members/a.b_c-9");
    expect([removed.status, removed.body]).toEqual([204, undefined]);
    expect((await asAdmin("GET", "/members")).body.members).toHaveLength(1);
  });

  test("are an admin's business", async () => {
    const { api, addMember } = await world();
    const key = await addMember("olga", "operator");
    const calls = [
      ["GET", "/members"],
      ["POST", "/members"],
      ["PATCH", "/members/admin"],
      ["DELETE", "/members/admin"],
      ["GET", "/audit-log"],
    ] as const;
    for (const [method, path] of calls) {
      const answer = await api.call(method, path, { key });
      expect([method, path, answer.status]).toEqual([method, path, 403]);
      expect(answer.body.error).toContain("workspace_admin");
    }
  });

  test("refuse what does not fit", async () => {
    const { asAdmin } = await world();
    const statuses: [unknown, number][] = [
      [{ login: "ok", role: "owner" }, 400],
      [{ login: "ok" }, 400],
      [{ login: "-ok", role: "viewer" }, 400],
      [{ login: "a/../b", role: "viewer" }, 400],
      [{ login: "a".repeat(64), role: "viewer" }, 400],
      [{ login: "olga\n", role: "viewer" }, 400],
      [{ login: "olgä", role: "viewer" }, 400],
      [{ login: "ok", role: "viewer", admin: true }, 400],
      [{ login: "admin", role: "viewer" }, 409],
      [{ login: "Admin", role: "viewer" }, 201],
    ];
    for (const [body, status] of statuses) {
      expect([body, (await asAdmin("POST", "/members", body)).status]).toEqual([body, status]);
    }
    expect((await asAdmin("PATCH", "/members/nobody", { role: "viewer" })).status).toBe(404);
    expect((await asAdmin("DELETE", "/members/nobody")).status).toBe(404);
    expect((await asAdmin("DELETE", "/members/..%2fadmin")).status).toBe(400);
    expect((await asAdmin("GET", "/members")).body.members).toHaveLength(2);
  });

  test("a new role and a removal count for the very next request", async () => {
    const { api, asAdmin, addMember } = await world();
    const key = await addMember("olga", "viewer");
    expect((await api.call("GET", "/members", { key })).status).toBe(403);
    await asAdmin("PATCH", "/members/olga", { role: "workspace_admin" });
    expect((await api.call("GET", "/members", { key })).status).toBe(200);
    await asAdmin("PATCH", "/members/olga", { role: "viewer" });
    expect((await api.call("GET", "/members", { key })).status).toBe(403);
    expect((await api.call("GET", "/api-keys", { key })).status).toBe(200);
    await asAdmin("DELETE", "/members/olga");
    expect((await api.call("GET", "/api-keys", { key })).status).toBe(403);
  });

  test("the last workspace admin stays one", async () => {
    const { asAdmin, addMember } = await world();
    await addMember("olga", "operator");
    const demoted = await asAdmin("PATCH", "/members/admin", { role: "viewer" });
    expect(demoted.status).toBe(409);
    expect(demoted.body.error).toContain("give another member the role workspace_admin first");
    expect((await asAdmin("DELETE", "/members/admin")).status).toBe(409);
    expect((await asAdmin("PATCH", "/members/admin", { role: "workspace_admin" })).status).toBe(200);
    await asAdmin("PATCH", "/members/olga", { role: "workspace_admin" });
    expect((await asAdmin("DELETE", "/members/admin")).status).toBe(204);
  });

  test.each(["demotions", "removals"])(
    "of two concurrent %s of the last two admins one is refused",
    async (what) => {
      const { db, access, workspaceId } = await world();
      await openConnections(db);
      const end = (login: string) =>
        db.transaction<unknown>((tx) =>
          what === "removals"
            ? access.members.remove(tx, workspaceId, login)
            : access.members.changeRole(tx, { workspaceId, login, role: "viewer" }),
        );
      for (let round = 0; round < 10; round++) {
        await db.transaction(async (tx) => {
          await tx("members").delete();
          for (const login of ["admin", "olga"])
            await access.members.add(tx, { workspaceId, login, role: "workspace_admin" });
        });
        const ended = await Promise.allSettled([end("admin"), end("olga")]);
        const refused = ended.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
        expect(refused).toEqual([expect.objectContaining({ status: 409 })]);
        expect(await db.read("members").where({ role: "workspace_admin" })).toHaveLength(1);
      }
    },
  );

  test("two admins that demote each other over HTTP: one is refused", async () => {
    const { db, api, adminKey, addMember } = await world();
    const key = await addMember("olga", "workspace_admin");
    const body = { role: "viewer" };
    const answers = await Promise.all([
      api.call("PATCH", "/members/olga", { key: adminKey, body }),
      api.call("PATCH", "/members/admin", { key, body }),
    ]);
    // The later one meets either the lock or its own new role.
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses[0]).toBe(200);
    expect([403, 409]).toContain(statuses[1]);
    expect(await db.read("members").where({ role: "workspace_admin" })).toHaveLength(1);
  });

  test("no key slips past a removal at the same moment", async () => {
    const { db, access, workspaceId, addMember } = await world();
    await openConnections(db);
    for (let round = 0; round < 10; round++) {
      await addMember("olga", "viewer");
      const [made] = await Promise.allSettled([
        db.transaction((tx) => access.apiKeys.create(tx, { workspaceId, member: "olga", name: "late" })),
        db.transaction((tx) => access.members.remove(tx, workspaceId, "olga")),
      ]);
      expect(await db.read("api_keys").where({ member: "olga", orphaned_at: null })).toEqual([]);
      if (made.status === "rejected") expect(made.reason).toMatchObject({ status: 404 });
    }
  });
});
