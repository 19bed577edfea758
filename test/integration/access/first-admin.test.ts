import { describe, expect, test } from "vitest";
import { createAccess } from "../../../src/access/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import { ensureWorkspace } from "../../../src/workspaces/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { openConnections } from "../../support/workspace.ts";

describe.each(databases())("the first start on %s", (engine) => {
  const database = useDatabase(engine);

  function start(adminKey?: string) {
    const { db } = database;
    const deps = { db, ids: createIds(), clock: systemClock, redactor: createRedactor() };
    const access = createAccess({ ...deps, logger: createLogger("silent", deps.redactor) });
    const first = db.transaction(async (tx) => {
      const workspace = await ensureWorkspace(tx, deps);
      return access.ensureFirstAdmin(tx, { workspaceId: workspace.id, adminKey });
    });
    return { access, first };
  }

  test("mints a key once", async () => {
    const { access, first } = start();
    const made = await first;
    expect(made?.key).toMatch(/^rck_/);
    expect(await access.authenticate(`Bearer ${made?.key}`)).toMatchObject({
      login: "admin",
      role: "workspace_admin",
    });
    expect(await start().first).toBeUndefined();
    expect(await database.db.read("api_keys")).toHaveLength(1);
  });

  test("takes the chosen key of any shape; another one later changes nothing", async () => {
    const chosen = "!correct,horse=battery~staple";
    const { access, first } = start(chosen);
    expect(await first).toEqual({ key: chosen });
    expect((await access.authenticate(`Bearer ${chosen}`)).login).toBe("admin");
    expect((await database.db.read("api_keys").first()).preview).toBe("!cor");
    const later = "another-key-of-some-length";
    expect(await start(later).first).toBeUndefined();
    await expect(access.authenticate(`Bearer ${later}`)).rejects.toMatchObject({ status: 401 });
  });

  test("of two processes that start together one makes the admin", async () => {
    await openConnections(database.db);
    const made = await Promise.all([start().first, start().first, start().first]);
    expect(made.filter((first) => first !== undefined)).toHaveLength(1);
    expect(await database.db.read("members")).toHaveLength(1);
    expect(await database.db.read("api_keys")).toHaveLength(1);
  });

  test("so do those that find the workspace but no member in it", async () => {
    const { db } = database;
    await openConnections(db);
    const workspace = await db.transaction((tx) =>
      ensureWorkspace(tx, { ids: createIds(), clock: systemClock }),
    );
    const made = await Promise.all([start().first, start().first, start().first]);
    expect(made.filter((first) => first !== undefined)).toHaveLength(1);
    expect(await db.read("members").where({ workspace_id: workspace.id })).toHaveLength(1);
  });
});
