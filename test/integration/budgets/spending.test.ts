import { describe, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../../src/platform/db/index.ts";
import { openDatabase } from "../../../src/platform/db/index.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import { createBudgets, forgetOldSpending } from "../../../src/runs/index.ts";
import { newRunRow } from "../../../src/runs/store.ts";
import type { BudgetSettings } from "../../../src/settings/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";

const workspaceId = "wsp_1";
const none: BudgetSettings = {
  usdPerRun: null,
  usdPerAgentDay: null,
  usdPerMemberDay: null,
  usdPerWorkspaceMonth: null,
  warnAt: 0.8,
};
const midnight = Date.parse("2026-12-01T00:00:00Z");

describe.each(databases())("spending on %s", (engine) => {
  const database = useDatabase(engine);

  /** The budgets of one process at a time that the test sets. */
  function startBudgets(limits: Partial<BudgetSettings> = {}, db: Database = database.db) {
    const time = { now: midnight - 60_000 };
    const lines: string[] = [];
    const logger = createLogger("warn", createRedactor(), { write: (line: string) => void lines.push(line) });
    const agents = {
      resolve: () => Promise.reject(new Error("no such agent")),
      spec: () => Promise.reject(new Error("no such spec")),
    };
    const budgets = createBudgets({
      db,
      clock: () => time.now,
      logger,
      agents,
      limits: async () => ({ ...none, ...limits }),
    });
    return { budgets, time, lines };
  }

  async function insertRun(
    id: string,
    { agent = "digest", run_as = "olga", cost = null as number | null } = {},
  ) {
    const fixed = { framework: "ai-sdk", version: "draft", commit_sha: "", spec_sha: "", message: "" };
    const origin = {
      eval_id: null,
      automation_id: null,
      trigger_id: null,
      webhook_id: null,
      tools_allowed: null,
      agents_beside: null,
    };
    const { table, row } = newRunRow({
      ...{ id, workspace_id: workspaceId, agent, run_as, created_at: 1, trigger: "api" },
      ...{ environment: "development", ...fixed, ...origin },
    });
    await database.db.transaction((tx) => tx(table).insert({ ...row, cost_usd: cost }));
    return { id, workspace_id: workspaceId, agent, run_as };
  }

  const spending = (costUsd: number | null) => ({
    model: "openai/gpt-4o-mini",
    tokens: { input: 1, output: 1, cached: 0 },
    costUsd,
  });

  /** Stores a cost as the end of a run does. */
  function end(
    budgets: ReturnType<typeof createBudgets>,
    run: Awaited<ReturnType<typeof insertRun>>,
    costUsd: number | null,
    at: number,
    db: Database = database.db,
  ) {
    return db.commit({
      run: (tx) =>
        budgets.keep(tx, [{ run, spending: spending(costUsd), at, ended: true, fresh: false }], async () => {
          await tx("runs").where({ id: run.id }).update({ cost_usd: costUsd });
          return true;
        }),
    });
  }

  test("a day and a month begin at midnight UTC", async () => {
    const { budgets, time } = startBudgets({ usdPerMemberDay: 1, usdPerWorkspaceMonth: 10 });
    const run = await insertRun("run_1");
    await end(budgets, run, 1, time.now);
    const requireFor = async () =>
      budgets.require(
        { workspaceId, login: "olga" },
        { agent: "digest", specSha: "", limits: await budgets.limits("") },
      );
    const refused = { status: 422, details: { budget: expect.objectContaining({ of: "olga", usedUsd: 1 }) } };
    await expect(requireFor()).rejects.toMatchObject(refused);
    await expect(
      budgets.guard(run, undefined, await budgets.limits(""), () => {}).start(),
    ).rejects.toMatchObject({
      code: "budget_exceeded",
    });
    time.now = midnight - 1;
    await expect(requireFor()).rejects.toMatchObject(refused);
    time.now = midnight;
    await requireFor();
    expect((await budgets.report(workspaceId)).caps).toEqual([
      expect.objectContaining({
        cap: "usdPerWorkspaceMonth",
        usedUsd: 0,
        resetsAt: "2027-01-01T00:00:00.000Z",
      }),
    ]);
  });

  test("a run that goes on over midnight counts to the day in which its cost is stored", async () => {
    const { budgets, time } = startBudgets({ usdPerMemberDay: 1 });
    const run = await insertRun("run_1");
    const guard = budgets.guard(run, undefined, await budgets.limits(""), () => {});
    await guard.start();
    const store = (costUsd: number, ended: boolean) =>
      database.db.transaction((tx) =>
        budgets.keep(
          tx,
          [{ run, spending: spending(costUsd), at: time.now, ended, fresh: false }],
          async () => {
            await tx("runs").where({ id: run.id }).update({ cost_usd: costUsd });
            return true;
          },
        ),
      );
    await guard.spent(0.9, 0);
    await store(0.9, false);
    time.now = midnight;
    // 0.9 were yesterday's, so there is room for as much again.
    await guard.spent(1.8, 0.9);
    await store(1.8, true);
    const [, member] = (await budgets.report(workspaceId)).caps;
    expect(member).toMatchObject({ of: "olga", usedUsd: 0.9, state: "warning" });
    await expect(guard.spent(2, 1.8)).rejects.toMatchObject({ code: "budget_exceeded" });
  });

  test("what was stored on the way is not counted again at the end", async () => {
    const { budgets, time } = startBudgets();
    const run = await insertRun("run_1", { cost: 0.25 });
    await end(budgets, run, 1, time.now);
    await end(budgets, run, 1, time.now);
    expect((await budgets.report(workspaceId)).caps[0]).toMatchObject({ usedUsd: 0.75 });
  });

  test("a write that does not count leaves the sums alone", async () => {
    const { budgets, time } = startBudgets();
    const run = await insertRun("run_1");
    const kept = await database.db.transaction((tx) =>
      budgets.keep(
        tx,
        [{ run, spending: spending(5), at: time.now, ended: true, fresh: false }],
        async () => false,
      ),
    );
    expect(kept).toBe(false);
    expect(await database.db.read("spending")).toEqual([]);
  });

  test("a cost that nobody knows counts nothing, and is said", async () => {
    const { budgets, time } = startBudgets({ usdPerWorkspaceMonth: 1 });
    await end(budgets, await insertRun("run_1"), null, time.now);
    await end(budgets, await insertRun("run_2"), null, time.now);
    const [workspace] = (await budgets.report(workspaceId)).caps;
    expect(workspace).toMatchObject({ usedUsd: 0, unpricedRuns: 2, state: "ok" });
  });

  test("four processes that end runs at the same moment lose nothing", async () => {
    const others = Array.from({ length: 3 }, () => openDatabase(database.config));
    onTestFinished(async () => void (await Promise.all(others.map((db) => db.close()))));
    const processes = [database.db, ...others].map((db) => ({ db, ...startBudgets({}, db) }));
    const runs = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        insertRun(`run_${index}`, { agent: `agent-${index % 7}`, run_as: `member-${index % 5}` }),
      ),
    );
    await Promise.all(
      processes.flatMap(({ budgets, db, time }, place) =>
        [...runs.entries()]
          .filter(([index]) => index % processes.length === place)
          .map(([index, run]) => end(budgets, run, 1e-9 * (index + 1), time.now, db)),
      ),
    );
    const total = (200 * 201) / 2;
    const { caps } = await startBudgets().budgets.report(workspaceId);
    const sumOf = (cap: string) =>
      caps
        .filter((each) => each.cap === cap)
        .reduce((sum, { usedUsd }) => sum + Math.round(usedUsd * 1e9), 0);
    expect(caps.length).toBe(1 + 5 + 7);
    expect(sumOf("usdPerWorkspaceMonth")).toBe(total);
    expect(sumOf("usdPerMemberDay")).toBe(total);
    expect(sumOf("usdPerAgentDay")).toBe(total);
  });

  test("that a cap is near is logged once, by whichever process and run sees it first", async () => {
    const limits = { usdPerMemberDay: 1 };
    const [one, two] = [startBudgets(limits), startBudgets(limits)];
    await end(one.budgets, await insertRun("run_1"), 0.85, one.time.now);
    const seen: string[] = [];
    const start = async ({ budgets }: typeof one) => {
      const run = { workspace_id: workspaceId, agent: "digest", run_as: "olga" };
      const guard = budgets.guard(run, undefined, await budgets.limits(""), ({ state }) => seen.push(state));
      await guard.start();
      await guard.spent(0.01, 0);
    };
    await Promise.all([start(one), start(two), start(one), start(two)]);
    expect(seen).toEqual(["warning", "warning", "warning", "warning"]);
    expect([...one.lines, ...two.lines].map((line) => JSON.parse(line).msg)).toEqual([
      "a budget is nearly used up",
    ]);
  });

  test("sums and notices of periods that are long over are forgotten", async () => {
    const { budgets, time } = startBudgets({ usdPerMemberDay: 1 });
    const run = await insertRun("run_1");
    await end(budgets, run, 1, time.now);
    await budgets
      .guard(run, undefined, await budgets.limits(""), () => {})
      .start()
      .catch(() => {});
    const counts = async () =>
      Promise.all(
        ["spending", "budget_notices"].map(async (table) => (await database.db.read(table)).length),
      );
    const forgetAt = (now: number) => database.db.transaction((tx) => forgetOldSpending(tx, now));
    await forgetAt(midnight + 61 * 86_400_000);
    expect(await counts()).toEqual([3, 1]);
    await forgetAt(midnight + 63 * 86_400_000);
    expect(await counts()).toEqual([0, 0]);
  });
});
