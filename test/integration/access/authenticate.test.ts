import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { AppError } from "../../../src/platform/errors.ts";
import { sha256 } from "../../../src/platform/secrets.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("authenticate on %s", (engine) => {
  const database = useDatabase(engine);

  async function world() {
    let now = Date.parse("2026-03-01T00:00:00Z");
    const workspace = await setUpWorkspace(database.db, () => now);
    onTestFinished(() => workspace.access.stop());
    const { access } = workspace;
    return {
      ...workspace,
      db: database.db,
      pass: (ms: number) => {
        now += ms;
      },
      now: () => now,
      /** Status of a request with this header: 200, or that of the error. */
      statusOf: async (header: string | undefined) => {
        try {
          await access.authenticate(header);
          return 200;
        } catch (error) {
          return refusal(error).status;
        }
      },
    };
  }

  test("a key acts as its member, whatever the letter case of the scheme", async () => {
    const { access, adminKey, workspaceId } = await world();
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const actor = await access.authenticate(`${scheme} ${adminKey}`);
      expect(actor).toEqual({
        workspaceId,
        login: "admin",
        role: "workspace_admin",
        keyId: expect.stringMatching(/^key_/),
      });
    }
  });

  test("401 with the scheme for a missing, malformed or unknown key", async () => {
    const { access, adminKey } = await world();
    const headers = [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      adminKey,
      `Basic ${adminKey}`,
      `Bearer ${adminKey} ${adminKey}`,
      `Bearer\t${adminKey}x`,
      `Bearer ${adminKey}x`,
      `Bearer ${adminKey.slice(0, -1)}`,
      `Bearer ${adminKey.toUpperCase()}`,
      `Bearer ${sha256(adminKey)}`,
      "Bearer rck_",
    ];
    for (const header of headers) {
      const error = await access.authenticate(header).then(() => undefined, refusal);
      expect([header, error?.status, error?.headers["WWW-Authenticate"]]).toEqual([header, 401, "Bearer"]);
      expect(error?.message).not.toContain(adminKey);
    }
  });

  test("disabled and revoked keys are 401, enabled again it works", async () => {
    const { db, access, addMember, workspaceId, statusOf } = await world();
    const header = `Bearer ${await addMember("olga", "operator")}`;
    const { keyId: id } = await access.authenticate(header);
    const ref = { workspaceId, id };
    await db.transaction((tx) => access.apiKeys.setEnabled(tx, ref, false));
    expect(await statusOf(header)).toBe(401);
    await db.transaction((tx) => access.apiKeys.setEnabled(tx, ref, true));
    expect(await statusOf(header)).toBe(200);
    await db.transaction((tx) => access.apiKeys.revoke(tx, ref));
    expect(await statusOf(header)).toBe(401);
    await expect(db.transaction((tx) => access.apiKeys.setEnabled(tx, ref, true))).rejects.toMatchObject({
      status: 409,
    });
    expect(await statusOf(header)).toBe(401);
  });

  test("a removed member's keys are 403 and stay so when the member comes back", async () => {
    const { db, access, addMember, workspaceId, statusOf } = await world();
    const header = `Bearer ${await addMember("olga", "operator")}`;
    await db.transaction((tx) => access.members.remove(tx, workspaceId, "olga"));
    expect(await statusOf(header)).toBe(403);
    const fresh = `Bearer ${await addMember("olga", "operator")}`;
    expect([await statusOf(header), await statusOf(fresh)]).toEqual([403, 200]);
  });

  test("a key whose member row is gone is 403, also after the login was added again", async () => {
    const { db, addMember, statusOf } = await world();
    const header = `Bearer ${await addMember("olga", "operator")}`;
    await db.transaction((tx) => tx("members").where({ login: "olga" }).delete());
    expect(await statusOf(header)).toBe(403);
    await addMember("olga", "operator");
    expect(await statusOf(header)).toBe(403);
  });

  test("logins that differ in letter case are different members", async () => {
    const { access, addMember } = await world();
    const lower = await addMember("olga", "viewer");
    const upper = await addMember("Olga", "operator");
    expect((await access.authenticate(`Bearer ${lower}`)).role).toBe("viewer");
    expect((await access.authenticate(`Bearer ${upper}`)).role).toBe("operator");
  });

  test("a change counts for the very next request, also among concurrent ones", async () => {
    const { db, access, addMember, workspaceId } = await world();
    const header = `Bearer ${await addMember("olga", "viewer")}`;
    for (const role of ["operator", "workspace_admin", "viewer"] as const) {
      const earlier = Array.from({ length: 20 }, () => access.authenticate(header));
      await db.transaction((tx) => access.members.changeRole(tx, { workspaceId, login: "olga", role }));
      const later = await Promise.all(Array.from({ length: 20 }, () => access.authenticate(header)));
      expect(new Set(later.map((actor) => actor.role))).toEqual(new Set([role]));
      await Promise.all(earlier);
    }
  });

  test("many different keys at once are told apart", async () => {
    const { access, addMember } = await world();
    const logins = Array.from({ length: 23 }, (_, index) => `member-${index}`);
    const keys: string[] = [];
    for (const login of logins) keys.push(await addMember(login, "viewer"));
    const actors = await Promise.all(keys.map((key) => access.authenticate(`Bearer ${key}`)));
    expect(actors.map((actor) => actor.login)).toEqual(logins);
  });

  test("the last use is kept, at most once a minute", async () => {
    const { db, access, adminKey, pass, now } = await world();
    const lastUse = async () => (await db.read("api_keys").first()).last_used_at;
    const use = async () => {
      await access.authenticate(`Bearer ${adminKey}`);
      await access.stop();
    };
    expect(await lastUse()).toBeNull();
    await use();
    const first = now();
    expect(await lastUse()).toBe(first);
    pass(59_999);
    await use();
    expect(await lastUse()).toBe(first);
    pass(1);
    await use();
    expect(await lastUse()).toBe(first + 60_000);
  });

  test("a refused request is no use of the key", async () => {
    const { db, access, addMember, workspaceId, statusOf } = await world();
    const header = `Bearer ${await addMember("olga", "operator")}`;
    await db.transaction((tx) => access.members.remove(tx, workspaceId, "olga"));
    expect(await statusOf(header)).toBe(403);
    await access.stop();
    expect(await db.read("api_keys").whereNotNull("last_used_at")).toEqual([]);
  });

  test("no header makes it throw anything but an AppError", async () => {
    const { access } = await world();
    const header = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string().map((text) => `Bearer ${text}`),
      fc.string({ unit: "binary", maxLength: 5_000 }).map((text) => `bearer ${text}`),
      fc.constant(undefined),
    );
    await fc.assert(
      fc.asyncProperty(header, async (text) => {
        const error = await access.authenticate(text).then(() => undefined, refusal);
        expect(error?.status).toBe(401);
      }),
      { numRuns: 200 },
    );
  });
});

function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
