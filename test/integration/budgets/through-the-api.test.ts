import { describe, expect, onTestFinished, test } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import {
  agentFiles,
  endedRun,
  eventsOf,
  postRun,
  reachesStatus,
  runToEnd,
} from "../../support/run-requests.ts";

const priced = { model: "openai/gpt-4o-mini", retries: 0 };
const evals = `cases:
  - name: says something
    input: Hello
    assert: { contains: fine }
`;
const files = {
  ...agentFiles({
    digest: priced,
    letter: { ...priced, connections: ["ROLLCALL_CURRENT_TIME"] },
    own: { ...priced, budget: { usdPerRun: 1, usdPerDay: 1 } },
    unpriced: { model: "openai/a-model-that-nobody-sells" },
    echo: {},
    tested: priced,
  }),
  "agents/ai-sdk/tested.eval.yaml": evals,
};
/** Costs 0.00015 dollars. */
const usage = { input: 1_000, output: 0 };
const answer = { text: "fine", usage };
const call = { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }], usage };

describe.each(databases())("budgets on %s", (engine) => {
  async function world(budgets: Record<string, number | null> = {}) {
    const simulator = await startModelSimulator();
    onTestFinished(simulator.close);
    const env = {
      OPENAI_BASE_URL: `${simulator.origin}/v1`,
      OPENAI_API_KEY: "key-of-the-environment-543210",
    };
    const app = await startApp({ engine, files, env });
    const set = async (change: Record<string, number | null>) => {
      const { status, json } = await app.request("PATCH", "/settings", { body: { budgets: change } });
      expect(status).toBe(200);
      return json.settings.budgets;
    };
    await set(budgets);
    return {
      app,
      simulator,
      set,
      report: async (key = app.key) => (await app.request("GET", "/budgets", { key })).json.budgets,
      post: (agent: string, key = app.key) => app.request("POST", "/runs", { key, body: { agent } }),
    };
  }

  test("are set, changed and removed one by one", async () => {
    const { app, set, report } = await world();
    const none = { usdPerRun: null, usdPerAgentDay: null, usdPerMemberDay: null, usdPerWorkspaceMonth: null };
    expect((await app.request("GET", "/settings")).json.settings.budgets).toEqual({ ...none, warnAt: 0.8 });
    await set({ usdPerMemberDay: 2.5, warnAt: 0.5 });
    expect(await set({ usdPerRun: 0.1, warnAt: null })).toEqual({
      ...none,
      usdPerMemberDay: 2.5,
      usdPerRun: 0.1,
      warnAt: 0.8,
    });
    expect(await set({ usdPerMemberDay: null })).toMatchObject({ usdPerMemberDay: null, usdPerRun: 0.1 });
    for (const wrong of [
      { usdPerRun: 0 },
      { usdPerRun: -1 },
      { usdPerRun: "1" },
      { warnAt: 1.1 },
      { usd: 1 },
    ])
      expect((await app.request("PATCH", "/settings", { body: { budgets: wrong } })).status).toBe(400);
    expect(await report()).toMatchObject({ warnAt: 0.8, usdPerRun: 0.1 });
  });

  test("count runs that succeed, fail and are cancelled, and those of evals", async () => {
    const { app, simulator, set, report } = await world({ usdPerWorkspaceMonth: 1 });
    const viewer = await app.member("vera", "viewer");
    simulator.script(answer);
    await runToEnd(app, "digest");
    simulator.script(answer);
    await set({ usdPerRun: 0.0001 });
    expect(await runToEnd(app, "digest")).toMatchObject({ failureCode: "budget_exceeded", costUsd: 0.00015 });
    await set({ usdPerRun: null });
    const held = Promise.withResolvers<void>();
    simulator.script(call, { text: "late", until: held.promise });
    const id = await postRun(app, "letter");
    await simulator.request(3);
    // A step that is over is counted while the run goes on.
    expect((await report()).caps[0]).toMatchObject({ usedUsd: 0.00045 });
    await app.request("POST", `/runs/${id}/cancel`);
    expect(await endedRun(app, id)).toMatchObject({ status: "cancelled", costUsd: 0.00015 });
    held.resolve();
    simulator.script(answer);
    const { json } = await app.request("POST", "/evals", { body: { agent: "tested" } });
    await app.request("GET", `/evals/${json.eval_id}?wait=20`);

    const resetsAt = expect.stringMatching(/T00:00:00\.000Z$/);
    const line = (cap: string, of: string | null, usedUsd: number, amountUsd: number | null = null) => ({
      ...{ cap, of, amountUsd, usedUsd, unpricedRuns: 0, state: "ok", resetsAt },
    });
    const { caps } = await report(viewer);
    expect(caps).toEqual([
      line("usdPerWorkspaceMonth", null, 0.0006, 1),
      line("usdPerMemberDay", "admin", 0.0006),
      line("usdPerAgentDay", "digest", 0.0003),
      ...[expect.anything(), expect.anything()],
    ]);
    expect(caps.slice(3)).toEqual(
      expect.arrayContaining([
        line("usdPerAgentDay", "letter", 0.00015),
        line("usdPerAgentDay", "tested", 0.00015),
      ]),
    );
    const costs = await app.db.read("runs").pluck("cost_usd");
    expect(costs).toEqual(Array.from({ length: 4 }, () => 0.00015));
  });

  test("refuse a run with the cap, its amount and its end when nothing is left", async () => {
    const { app, simulator, set, report, post } = await world({ usdPerMemberDay: 0.00015 });
    const key = await app.member("olga", "operator");
    simulator.script(answer);
    await runToEnd(app, "digest", "Hello", { key });
    const refused = await post("echo", key);
    expect([refused.status, refused.json.details]).toEqual([
      422,
      {
        budget: {
          cap: "usdPerMemberDay",
          of: "olga",
          amountUsd: 0.00015,
          usedUsd: 0.00015,
          resetsAt: expect.stringMatching(/T00:00:00\.000Z$/),
        },
      },
    ]);
    expect(refused.json.error).toContain("a day of olga");
    // Somebody else's day is another one.
    expect((await post("echo")).status).toBe(202);
    expect((await report()).caps).toContainEqual(
      expect.objectContaining({ cap: "usdPerMemberDay", of: "olga", state: "exceeded" }),
    );

    await set({ usdPerMemberDay: null, usdPerAgentDay: 0.0001 });
    expect((await post("digest")).json.details.budget).toMatchObject({ cap: "usdPerAgentDay", of: "digest" });
    // A spec's own amount stands.
    simulator.script(answer, answer);
    await runToEnd(app, "own");
    expect((await post("own")).status).toBe(202);
    await set({ usdPerAgentDay: null, usdPerWorkspaceMonth: 0.0001 });
    expect((await post("echo")).json.details.budget).toMatchObject({ cap: "usdPerWorkspaceMonth", of: null });
    await set({ usdPerWorkspaceMonth: null });
    expect((await post("echo")).status).toBe(202);
  });

  test("end a run that was accepted before the cap was used up, and say so in its trace", async () => {
    const { app, simulator } = await world({ usdPerWorkspaceMonth: 0.0004 });
    const held = Promise.withResolvers<void>();
    simulator.script({ ...call, until: held.promise });
    const first = await postRun(app, "letter");
    await simulator.request(0);
    simulator.script(answer, answer);
    await runToEnd(app, "digest");
    await runToEnd(app, "digest");
    held.resolve();
    // Others have cost 0.0003 meanwhile, which only the sums know.
    const run = await endedRun(app, first);
    expect(run).toMatchObject({ status: "failed", failureCode: "budget_exceeded", costUsd: 0.00015 });
    expect(run.errorDetails).toMatch(/workspace cost 0\.00045 USD this month/);
    const events = await eventsOf(app, first);
    expect(events.map(({ event }) => event)).not.toContain("tool.called");
    expect(events.find(({ event }) => event === "budget.exceeded")?.data).toMatchObject({
      cap: "usdPerWorkspaceMonth",
      of: null,
      amountUsd: 0.0004,
      usedUsd: 0.00045,
      resetsAt: expect.any(String),
    });
    // What schedules, triggers and webhooks have queued meets the cap when it begins.
    const { json } = await app.request("POST", "/evals", { body: { agent: "tested" } });
    const suite = (await app.request("GET", `/evals/${json.eval_id}?wait=20`)).json.eval;
    expect(suite.status).toBe("failed");
    expect(await endedRun(app, suite.cases[0].runId)).toMatchObject({
      failureCode: "budget_exceeded",
      tokensInput: 0,
    });
    expect(simulator.left()).toBe(0);
  });

  test("warn from the threshold on: in each run's trace, once in the log, and in the report", async () => {
    const { app, simulator, report } = await world({ usdPerMemberDay: 0.0005, warnAt: 0.6 });
    simulator.script(answer, answer, answer);
    const [first, second, third] = [
      await runToEnd(app, "digest"),
      await runToEnd(app, "digest"),
      await runToEnd(app, "digest"),
    ];
    const warnings = async ({ id }: { id: string }) =>
      (await eventsOf(app, id))
        .filter(({ event }) => event === "budget.warning")
        .map(({ data }) => data.usedUsd);
    expect(await warnings(first)).toEqual([]);
    expect(await warnings(second)).toEqual([0.0003]);
    expect(await warnings(third)).toEqual([0.0003]);
    expect((await report()).caps).toContainEqual(
      expect.objectContaining({ cap: "usdPerMemberDay", state: "warning", usedUsd: 0.00045 }),
    );
    const logged = app.logs().filter((line) => line.includes("a budget is nearly used up"));
    expect(logged).toHaveLength(1);
  });

  test("say how many runs asked a model whose price is not known", async () => {
    const { app, simulator, report } = await world({ usdPerWorkspaceMonth: 1 });
    simulator.script({ text: "a" }, { text: "b" });
    await runToEnd(app, "unpriced");
    await runToEnd(app, "unpriced");
    await runToEnd(app, "echo");
    expect((await report()).caps[0]).toMatchObject({ usedUsd: 0, unpricedRuns: 2, state: "ok" });
  });

  test("hold without a cap on anything, too: sums go on from what was spent before one is set", async () => {
    const { app, simulator, set, post } = await world();
    simulator.script(answer);
    const id = await postRun(app, "digest");
    await reachesStatus(app, id, "succeeded");
    await set({ usdPerWorkspaceMonth: 0.0001 });
    expect((await post("digest")).status).toBe(422);
  });
});
