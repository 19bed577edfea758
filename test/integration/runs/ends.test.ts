import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endRuns, newRunRow, type RunEnding, type RunRow } from "../../../src/runs/store.ts";
import { databases, emptyTables, useDatabase } from "../../support/databases.ts";

const text = fc.oneof(
  fc.constant(null),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  // Longer than what shares a statement with others.
  fc.constantFrom("?", "'; drop table runs; --", "\\", ":name", "x".repeat(40_000), "y".repeat(70_000)),
);
const count = fc.integer({ min: 0, max: 1_000_000 });
const ending = fc.record({
  attempt: fc.integer({ min: 1, max: 3 }),
  end: fc.record({
    status: fc.constantFrom("succeeded", "failed", "cancelled"),
    output: text,
    failureCode: fc.constantFrom(null, "timeout", "internal"),
    errorDetails: text,
    finishedAt: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  }),
  spending: fc.record({
    model: fc.constantFrom(null, "openai/gpt-5-mini", "offline/echo"),
    tokens: fc.record({ input: count, output: count, cached: count }),
    costUsd: fc.option(fc.integer({ min: 0, max: 10_000_000 }).map((nano) => nano / 1e9)),
  }),
});

function runRow(id: string, attempt: number) {
  const { table, row } = newRunRow({
    ...{ id, workspace_id: "wsp_1", agent: "digest", run_as: "olga", created_at: 1, trigger: "api" },
    ...{ environment: "development", framework: "ai-sdk", version: "draft", commit_sha: "", spec_sha: "" },
    ...{ message: "", eval_id: null, automation_id: null, trigger_id: null, webhook_id: null },
    ...{ tools_allowed: null, agents_beside: null },
  });
  return { table, row: { ...row, status: "running", attempt } };
}

const shown = ({ status, output, failure_code, error_details, finished_at, ...run }: RunRow) => ({
  end: { status, output, failureCode: failure_code, errorDetails: error_details, finishedAt: finished_at },
  spending: {
    model: run.model,
    tokens: { input: run.tokens_input, output: run.tokens_output, cached: run.tokens_cached },
    costUsd: run.cost_usd,
  },
});

describe.each(databases())("runs on %s that end at the same moment", (engine) => {
  const database = useDatabase(engine);

  it("each get their own end", async () => {
    const property = fc.asyncProperty(fc.array(ending, { minLength: 1, maxLength: 120 }), async (drawn) => {
      const { db } = database;
      await emptyTables(db);
      const endings: RunEnding[] = drawn.map((each, n) => ({ ...each, id: `run_${n}` }));
      await db.commit({ rows: endings.map(({ id, attempt }) => runRow(id, attempt)) });
      expect(await db.transaction((tx) => endRuns(tx, endings))).toBe(true);
      const rows: RunRow[] = await db.read("runs");
      const found = new Map(rows.map((row) => [row.id, shown(row)]));
      for (const { id, end, spending } of endings) expect(found.get(id)).toEqual({ end, spending });
      // They have ended: no attempt may do so again.
      expect(await db.transaction((tx) => endRuns(tx, endings.slice(0, 1)))).toBe(false);
    });
    await fc.assert(property, { numRuns: engine === "sqlite" ? 25 : 12 });
  });

  it("are refused together when one of them belongs to another attempt by now", async () => {
    const { db } = database;
    const [first, second] = fc.sample(ending, 2).map((each, n) => ({ ...each, id: `run_${n}`, attempt: 1 }));
    if (!first || !second) throw new Error("Nothing was drawn.");
    await db.commit({ rows: [runRow(first.id, 1), runRow(second.id, 2)] });
    expect(await db.transaction((tx) => endRuns(tx, [first, second]))).toBe(false);
    expect(await db.read("runs").where({ id: second.id }).first()).toMatchObject({ status: "running" });
  });
});
