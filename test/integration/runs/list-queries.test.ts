import { describe, expect, it } from "vitest";
import { type Database, openDatabase } from "../../../src/platform/db/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { ListRuns } from "../../../src/runs/schema.ts";
import { listRuns, newRunRow } from "../../../src/runs/store.ts";
import { addWorkspace } from "../../support/catalog.ts";
import { databases, freshDatabase } from "../../support/databases.ts";
import { plansOf } from "../../support/query-plan.ts";

const total = 20_000;
const limit = 50;

/** Runs of two workspaces as they come about: most have succeeded, few are under way, some are of evals. */
async function insertRuns(db: Database): Promise<string[]> {
  const workspaces = [await addWorkspace(db, "ours"), await addWorkspace(db, "theirs")];
  const ids = createIds();
  const rows = Array.from({ length: total }, (_, n) => {
    const status = n % 500 === 0 ? "running" : n % 20 === 0 ? "failed" : "succeeded";
    const { table, row } = newRunRow({
      ...{ id: ids("run"), workspace_id: workspaces[n % 4 === 0 ? 1 : 0] ?? "", agent: `agent-${n % 40}` },
      ...{
        framework: "ai-sdk",
        version: "draft",
        commit_sha: "c",
        spec_sha: "s",
        run_as: "admin",
        message: "Hello",
      },
      trigger: n % 3 === 0 ? "eval" : n % 7 === 0 ? "schedule" : "api",
      environment: n % 5 === 0 ? "production" : "development",
      created_at: n,
      ...{
        eval_id: null,
        automation_id: null,
        trigger_id: null,
        webhook_id: null,
        tools_allowed: null,
        agents_beside: null,
      },
    });
    return { table, row: { ...row, id: row.id, status } };
  });
  await db.commit({ rows });
  await db.writer.raw(db.engine === "mysql" ? "ANALYZE TABLE runs" : "ANALYZE");
  return rows.map(({ row }) => String(row.id));
}

describe.each(databases())("lists of 20,000 runs on %s", (engine) => {
  it("every filter goes along an index, sorts nothing and reads little more than a page", async () => {
    const { db: writer, config } = await freshDatabase(engine);
    const ids = await insertRuns(writer);
    // SQLite reads what ANALYZE found when a connection is opened.
    const db = openDatabase(config);
    const before = ids[total / 2] ?? "";
    const single: Record<string, string>[] = [
      ...[{}, { before }, { agent: "agent-3" }, { agent: "agent-3", before }, { agent: "nobody" }],
      ...[{ status: "running" }, { status: "failed" }, { status: "succeeded", before }, { status: "queued" }],
      ...[{ trigger: "api" }, { trigger: "eval" }, { trigger: "schedule", before }, { trigger: "chat" }],
      ...[{ environment: "production" }, { environment: "development", before }],
      ...[{ environment: "production,development" }, { environment: "production,production" }],
    ];
    const pairs: Record<string, string>[] = [
      ...[
        { agent: "agent-3", status: "failed" },
        { agent: "agent-3", trigger: "api", before },
      ],
      ...[
        { status: "failed", trigger: "api" },
        { status: "succeeded", environment: "production" },
      ],
      ...[
        { agent: "agent-5", environment: "production" },
        { trigger: "schedule", environment: "development" },
      ],
      ...[{ agent: "agent-3", status: "succeeded", trigger: "api", environment: "development", before }],
    ];
    for (const filter of [...single, ...pairs]) {
      const parsed = ListRuns.parse({ ...filter, limit: String(limit) });
      const [plan, ...others] = await plansOf(db, () => listRuns(db.read, "wsp_ours", parsed));
      const what = JSON.stringify({ filter, plan });
      expect(others, what).toEqual([]);
      expect(plan, what).toMatchObject({ index: expect.stringMatching(/^(runs_|PRIMARY)/), sorts: false });
      // A third of the rows is left out of lists, and a row that is shown is looked up beside its index entry.
      if (single.includes(filter)) expect(plan?.rowsRead ?? 0, what).toBeLessThan(limit * 5);
    }
    const twice = ListRuns.parse({ environment: "production,production", limit: "200" });
    const environments = (await listRuns(db.read, "wsp_ours", twice)).map((row) => row.environment);
    expect(new Set(environments)).toEqual(new Set(["production"]));
    await db.close();
  });
});
