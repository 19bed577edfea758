import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Database, isUniqueViolation, step, type Tx } from "../../../src/platform/db/index.ts";
import { databases, emptyTables, useDatabase } from "../../support/databases.ts";

const workspaceRow = (n: number | string) => ({
  table: "workspaces",
  row: { id: `wsp_${n}`, slug: `slug-${n}`, created_at: 1 },
});
const stored = async (db: Database) => (await db.read("workspaces").orderBy("id")).map((row) => row.id);

describe.each(databases())("group commit on %s", (engine) => {
  const database = useDatabase(engine);

  it("answers each caller with its own result after one commit for all", async () => {
    const { db } = database;
    let commits = 0;
    const count = ({ sql }: { sql: string }) => {
      if (sql === "COMMIT;") commits++;
    };
    db.writer.on("query", count);
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => db.commit({ run: async () => n, rows: [workspaceRow(n)] })),
    );
    db.writer.off("query", count);
    expect(results).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(await stored(db)).toHaveLength(50);
    expect(commits).toBe(1);
  });

  it("fails the unit at fault alone", async () => {
    const { db } = database;
    await db.commit({ rows: [workspaceRow("there")] });
    const units = Array.from({ length: 9 }, (_, n) =>
      db.commit({ rows: [workspaceRow(n === 4 ? "there" : n)] }),
    );
    const results = await Promise.allSettled(units);
    expect(results.map((each) => each.status)).toEqual(
      results.map((_, n) => (n === 4 ? "rejected" : "fulfilled")),
    );
    const [failed] = results.filter((each) => each.status === "rejected");
    expect(isUniqueViolation(failed?.reason)).toBe(true);
    expect(await stored(db)).toHaveLength(9);
  });

  it("stores rows of several tables together or not at all, and goes on", async () => {
    const { db } = database;
    const job = {
      kind: "k",
      payload: "?; ROLLBACK; --",
      state: "queued",
      run_at: 1,
      attempt: 0,
      created_at: 1,
    };
    const jobRow = (n: number | string) => ({ table: "jobs", row: { id: `job_${n}`, ...job } });
    await db.commit({ rows: [jobRow("there")] });
    const commit = (n: number) => db.commit({ rows: [workspaceRow(n), jobRow(n === 2 ? "there" : n)] });
    const results = await Promise.allSettled([commit(1), commit(2), commit(3)]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await stored(db)).toEqual(["wsp_1", "wsp_3"]);
    await commit(4);
    expect(await stored(db)).toEqual(["wsp_1", "wsp_3", "wsp_4"]);
    expect(await db.read("jobs").orderBy("id").pluck("id")).toEqual(["job_1", "job_3", "job_4", "job_there"]);
  });

  it("calls `committed` when the rows can be read, once, and a failing one only warns", async () => {
    const { db } = database;
    const seen: number[] = [];
    const warning = new Promise<Error>((resolve) => process.once("warning", resolve));
    let found: Promise<string[]> | undefined;
    await Promise.all([
      db.commit({
        rows: [workspaceRow(1)],
        committed() {
          seen.push(1);
          found = stored(db);
        },
      }),
      db.commit({
        rows: [workspaceRow(2)],
        committed() {
          seen.push(2);
          throw new Error("hook failed");
        },
      }),
      expect(db.commit({ rows: [workspaceRow(1)], committed: () => void seen.push(3) })).rejects.toThrow(),
    ]);
    expect(seen.sort()).toEqual([1, 2]);
    expect(await found).toContain("wsp_1");
    expect(await stored(db)).toEqual(["wsp_1", "wsp_2"]);
    expect((await warning).message).toBe("hook failed");
  });

  it("makes a step once for all units that have it, between their statements and their rows", async () => {
    const { db } = database;
    const seen: (string | readonly number[])[] = [];
    const count = async (_tx: Tx, items: readonly number[]) => {
      seen.push([...items]);
      return true;
    };
    const other = async (tx: Tx, slugs: readonly string[]) => {
      seen.push(`${slugs} with ${(await tx("workspaces").pluck("id")).join()}`);
      return true;
    };
    const refused = () => new Error("refused");
    const run = async () => void seen.push("run");
    await Promise.all([
      db.commit({ steps: [step(count, 1, refused), step(other, "a", refused)], rows: [workspaceRow(1)] }),
      db.commit({ run, steps: [step(count, 2, refused)], rows: [workspaceRow(2)] }),
      db.commit({ steps: [step(count, 3, refused), step(count, 4, refused)] }),
    ]);
    expect(seen).toEqual(["run", [1, 2, 3, 4], "a with "]);
    expect(await stored(db)).toEqual(["wsp_1", "wsp_2"]);
  });

  it("stores every column of rows that name different ones", async () => {
    const { db } = database;
    const job = { kind: "k", payload: "1", state: "queued", run_at: 1, attempt: 0, created_at: 1 };
    await Promise.all([
      db.commit({ rows: [{ table: "jobs", row: { id: "job_1", ...job } }] }),
      db.commit({ rows: [{ table: "jobs", row: { id: "job_2", ...job, unique_key: "only here" } }] }),
    ]);
    const keys = (await db.read("jobs").orderBy("id")).map((row) => row.unique_key);
    expect(keys).toEqual([null, "only here"]);
  });

  it("takes more text at a moment than the server takes in one statement", async () => {
    const { db } = database;
    const text = `${"x".repeat(700_000)}"${"\\".repeat(200_000)}`;
    const job = { kind: "k", payload: text, state: "queued", run_at: 1, attempt: 0, created_at: 1 };
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        db.commit({ rows: [{ table: "jobs", row: { id: `job_${n}`, ...job } }] }),
      ),
    );
    const [kept] = await db.read("jobs").count({ n: "*" }).where({ payload: text });
    expect(Number(kept?.n)).toBe(40);
  });

  it("answers every caller according to its own unit, and keeps the rows of the fulfilled ones", async () => {
    const unit = fc.record({
      key: fc.integer({ min: 0, max: 12 }),
      fails: fc.constantFrom("no", "no", "no", "before", "step", "constraint"),
      later: fc.boolean(),
    });
    const property = fc.asyncProperty(fc.array(unit, { minLength: 1, maxLength: 25 }), async (units) => {
      const { db } = database;
      await emptyTables(db);
      // Notes what it does, so that what a step did for others has to be undone with it.
      const note = async (tx: Tx, items: readonly { n: number; fails: string }[]) => {
        const rows = items.map(({ n }) => workspaceRow(`noted_${n}`).row);
        await tx("workspaces").insert(rows);
        return !items.some(({ fails }) => fails === "step");
      };
      const answers = units.map(async ({ key, fails, later }, n) => {
        if (later) await new Promise((resolve) => setImmediate(resolve));
        const row = { id: `wsp_${n}`, slug: `slug-${key}`, created_at: fails === "constraint" ? null : 1 };
        const run = async () => {
          if (fails === "before") throw new Error("refused");
          return n;
        };
        const steps = [step(note, { n, fails }, () => new Error(`refused ${n}`))];
        return db.commit({ run, steps, rows: [{ table: "workspaces", row }] });
      });
      const results = await Promise.allSettled(answers);
      const fulfilled = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      const kept = fulfilled.flatMap((n) => [`wsp_${n}`, `wsp_noted_${n}`]);
      expect((await stored(db)).sort()).toEqual(kept.sort());
      for (const [n, each] of results.entries()) {
        if (units[n]?.fails === "step") expect(each).toMatchObject({ reason: { message: `refused ${n}` } });
      }
      // Of those that may be stored exactly one of each key is; those that may not are refused.
      const possible = new Set(units.filter(({ fails }) => fails === "no").map(({ key }) => key));
      expect(fulfilled.map((n) => units[n]?.key).sort()).toEqual([...possible].sort());
    });
    await fc.assert(property, { numRuns: engine === "sqlite" ? 60 : 25 });
  }, 60_000);
});
