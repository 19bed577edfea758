import { fileURLToPath } from "node:url";
import type { Knex } from "knex";
import { describe, expect, it } from "vitest";
import { type Database, migrate, migrationStatus, rollback } from "../../src/platform/db/index.ts";
import { databases, freshDatabase } from "../support/databases.ts";
import { type Schema, schemaOf } from "../support/schema.ts";

const settings: Knex.MigratorConfig = {
  directory: fileURLToPath(new URL("../../migrations", import.meta.url)),
  tableName: "migrations",
  loadExtensions: [".js"],
  disableTransactions: true,
};

const step = (db: Database, name: string) => ({
  up: () => db.writer.migrate.up({ ...settings, name }),
  down: () => db.writer.migrate.down({ ...settings, name }),
});

describe.each(databases())("migrations on %s", (engine) => {
  it("each step goes up, down and up again, and leaves the others and their rows as they are", async () => {
    const { db } = await freshDatabase(engine, { migrated: false });
    const names = (await migrationStatus(db)).pending;
    expect(names.length).toBeGreaterThan(10);
    let before: Schema = {};
    for (const name of names) {
      const { up, down } = step(db, name);
      await up();
      const after = await schemaOf(db);
      expect(after, name).not.toEqual(before);
      expect(after, name).toMatchObject(before);
      await down();
      expect(await schemaOf(db), name).toEqual(before);
      await up();
      expect(await schemaOf(db), name).toEqual(after);
      if (name === names[0])
        await db.writer("workspaces").insert({ id: "wsp_1", slug: "kept", created_at: 1 });
      before = after;
    }
    expect(await db.writer("workspaces").pluck("slug")).toEqual(["kept"]);
  }, 60_000);

  it("rollback takes back the newest step, or all; migrate applies what is missing and keeps rows", async () => {
    const { db, config } = await freshDatabase(engine);
    const whole = await schemaOf(db);
    const { applied } = await migrationStatus(db);
    await db.writer("workspaces").insert({ id: "wsp_1", slug: "kept", created_at: 1 });
    const newest = (await rollback(db, config, false)).map(baseName);
    expect(newest).toEqual(applied.slice(-1));
    expect((await migrationStatus(db)).pending).toEqual(newest);
    expect((await migrate(db, config)).map(baseName)).toEqual(newest);
    expect(await migrate(db, config)).toEqual([]);
    expect(await schemaOf(db)).toEqual(whole);
    expect(await db.writer("workspaces").pluck("slug")).toEqual(["kept"]);
    expect(await rollback(db, config, true)).toHaveLength(applied.length);
    expect(await schemaOf(db)).toEqual({});
  });
});

describe.runIf(databases().includes("mysql"))(
  "migrations on a MySQL server, which commits each statement by itself",
  () => {
    it("a step that was cut off after any of its statements can be repeated and is whole then", async () => {
      const { db } = await freshDatabase("mysql", { migrated: false });
      for (const name of (await migrationStatus(db)).pending) {
        const { up, down } = step(db, name);
        const statements: string[] = [];
        const note = ({ sql }: { sql: string }) =>
          void (/^(create|alter) table/i.test(sql) && !/`migrations/.test(sql) && statements.push(sql));
        db.writer.on("query", note);
        await up();
        db.writer.off("query", note);
        const whole = await schemaOf(db);
        for (let cut = 1; cut <= statements.length; cut++) {
          await down();
          for (const sql of statements.slice(0, cut)) await db.writer.raw(sql);
          await up();
          expect(await schemaOf(db), `${name} cut off after ${statements[cut - 1]}`).toEqual(whole);
        }
      }
    }, 60_000);

    it("a step never takes a table away that is in use", async () => {
      const { db, config } = await freshDatabase("mysql");
      await db.writer("workspaces").insert({ id: "wsp_1", slug: "kept", created_at: 1 });
      // As after restoring a backup that left out the list of steps.
      await db.writer("migrations").delete();
      await migrate(db, config);
      expect(await db.writer("workspaces").pluck("slug")).toEqual(["kept"]);
    });
  },
);

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);
