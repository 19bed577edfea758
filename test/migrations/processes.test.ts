import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import type { DatabaseConfig } from "../../src/platform/config.ts";
import { migrate, migrationStatus } from "../../src/platform/db/index.ts";
import { startScript } from "../support/child-process.ts";
import { databases, freshDatabase, tableNames } from "../support/databases.ts";
import { schemaOf } from "../support/schema.ts";

const script = fileURLToPath(new URL("../support/migrate-process.ts", import.meta.url));

const environment = (config: DatabaseConfig) => ({
  DATABASE_URL: config.engine === "mysql" ? config.url : `sqlite:${config.path}`,
  ROLLCALL_SECRET_KEY: "a key that is only needed to start",
});

describe.each(databases())("migrating processes on %s", (engine) => {
  it("apply each step once when several start at the same moment, and all end well", async () => {
    const { db, config } = await freshDatabase(engine, { migrated: false });
    const { pending } = await migrationStatus(db);
    const processes = [1, 2, 3].map(() => startScript(script, { env: environment(config) }));
    const applied: string[] = [];
    for (const each of processes) {
      expect(await each.exit, each.stderr()).toEqual({ code: 0, signal: null });
      applied.push(...(JSON.parse(each.lines[1] ?? "") as string[]));
    }
    expect(applied.map((path) => path.slice(path.lastIndexOf("/") + 1))).toEqual(pending);
    expect(await db.writer("migrations").orderBy("id").pluck("name")).toEqual(pending);
    const other = await freshDatabase(engine);
    expect(await schemaOf(db)).toEqual(await schemaOf(other.db));
  });

  it("that are killed on the way do not keep the next one from finishing", async () => {
    const whole = await schemaOf((await freshDatabase(engine)).db);
    const { db, config } = await freshDatabase(engine, { migrated: false });
    for (const tables of [1, 4, 9]) {
      const victim = startScript(script, { env: environment(config) });
      await victim.waitForLine(/begins/);
      // SQLite shows nothing before all is done, so there only the moment differs.
      if (engine === "sqlite") await sleep(tables * 5);
      else
        await vi.waitFor(async () => expect((await tableNames(db)).length).toBeGreaterThanOrEqual(tables), {
          timeout: 10_000,
          interval: 2,
        });
      await victim.kill("SIGKILL");
    }
    await migrate(db, config);
    expect((await migrationStatus(db)).pending).toEqual([]);
    expect(await schemaOf(db)).toEqual(whole);
  });
});
