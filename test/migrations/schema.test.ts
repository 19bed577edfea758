import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { databases, useDatabase } from "../support/databases.ts";
import { type Schema, schemaOf } from "../support/schema.ts";

const file = new URL("schema.json", import.meta.url);

// Both engines are held against one file, so they agree with each other as well. After a new migration:
// UPDATE_SCHEMA=1 vitest run test/migrations/schema.test.ts, and read the difference.
describe.each(databases())("schema on %s", (engine) => {
  const database = useDatabase(engine);

  it("is the one that is kept beside this test", async () => {
    const schema = await schemaOf(database.db);
    if (process.env.UPDATE_SCHEMA && engine === "sqlite")
      writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
    const kept: Schema = JSON.parse(readFileSync(file, "utf8"));
    expect(schema).toEqual(kept);
  });

  it("compares texts by their bytes, in keys and elsewhere", async () => {
    const { db } = database;
    const names = ["a", "A", "a ", "á", "a\u0301", "ﬀ", "ff", "ß", "ss", "😀", "😃"];
    await db.transaction(async (tx) => {
      for (const [n, slug] of names.entries())
        await tx("workspaces").insert({ id: `wsp_${n}`, slug, created_at: 1 });
    });
    for (const [n, slug] of names.entries())
      expect(await db.read("workspaces").where({ slug }).pluck("id")).toEqual([`wsp_${n}`]);
    const sorted = await db.read("workspaces").orderBy("slug").pluck("slug");
    expect(sorted).toEqual([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it("keeps large and odd values as they are", async () => {
    const { db } = database;
    const payload = `"\\'\0\u2028😀${"x".repeat(200_000)}`;
    const job = {
      id: "job_1",
      kind: "k",
      payload,
      state: "queued",
      run_at: Number.MAX_SAFE_INTEGER,
      attempt: 0,
      created_at: -1,
    };
    await db.commit({ rows: [{ table: "jobs", row: job }] });
    expect(await db.read("jobs").first()).toMatchObject(job);
  });
});
