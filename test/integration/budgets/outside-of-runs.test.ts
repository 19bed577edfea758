import { describe, expect, onTestFinished, test } from "vitest";
import { calls, changeToEnd, writtenSpec } from "../../support/agent-change-requests.ts";
import { startApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, evalToEnd } from "../../support/eval-requests.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";

const priced = "openai/gpt-4o-mini";
/** Costs 0.00015 dollars. */
const usage = { input: 1_000, output: 0 };
const cases = [{ input: "Hi", assert: { contains: "hi" }, judge: { rubric: "It is kind." } }];
const files = {
  ...agentWithEvals("tested", cases),
  ...agentWithEvals("dear", cases, { model: priced, retries: 0 }),
};

describe.each(databases())("budgets and model calls outside of runs on %s", (engine) => {
  async function world(settings: Record<string, unknown>) {
    const simulator = await startModelSimulator();
    onTestFinished(simulator.close);
    const env = {
      OPENAI_BASE_URL: `${simulator.origin}/v1`,
      OPENAI_API_KEY: "key-of-the-environment-543210",
    };
    const app = await startApp({ engine, files, env });
    const set = async (body: Record<string, unknown>) =>
      expect((await app.request("PATCH", "/settings", { body })).status).toBe(200);
    await set(settings);
    const used = async () =>
      (await app.request("GET", "/budgets")).json.budgets.caps.map(
        ({ cap, of, usedUsd }: { cap: string; of: string | null; usedUsd: number }) => [cap, of, usedUsd],
      );
    return { app, simulator, set, used };
  }
  const writing = [
    { ...calls("WRITE_SPEC", { text: writtenSpec("greeter") }), usage },
    { text: "I wrote it.", usage },
  ];
  const wanted = { name: "greeter", description: "Greets.", includeEvals: false };

  test("what an author's calls cost counts to the member who asked and to the workspace", async () => {
    const { app, simulator, used } = await world({ model: priced });
    const key = await app.member("olga", "operator");
    simulator.script(...writing);
    const change = await changeToEnd(app, wanted, { key });
    expect(change).toMatchObject({ status: "proposed", costUsd: 0.0003 });
    expect(await used()).toEqual([
      ["usdPerWorkspaceMonth", null, 0.0003],
      ["usdPerMemberDay", "olga", 0.0003],
    ]);
  });

  test("an author's calls end with the cap, before the first of them and in between", async () => {
    const { app, simulator, set, used } = await world({
      model: priced,
      budgets: { usdPerMemberDay: 0.0001, usdPerRun: 0.00001 },
    });
    simulator.script(...writing);
    const first = await changeToEnd(app, wanted);
    expect(first).toMatchObject({ status: "failed", error: expect.stringContaining("a day of admin") });
    expect(first.error).toMatch(/used up; wait until .*T00:00:00\.000Z/);
    expect(await used()).toContainEqual(["usdPerMemberDay", "admin", 0.00015]);
    expect(simulator.requests).toHaveLength(1);
    const second = await changeToEnd(app, wanted);
    expect(second).toMatchObject({ status: "failed", error: expect.stringContaining("a day of admin") });
    expect(simulator.requests).toHaveLength(1);
    await set({ budgets: { usdPerMemberDay: null, usdPerWorkspaceMonth: 0.00015 } });
    const third = await changeToEnd(app, wanted);
    expect(third.error).toContain("a month of the workspace");
    // What needs no model costs nothing.
    await set({ model: null });
    expect(await changeToEnd(app, wanted)).toMatchObject({ status: "proposed" });
  });

  test("what a judge costs counts to whom the runs of its suite do", async () => {
    const { app, simulator, used } = await world({ judgeModel: priced });
    simulator.script({ text: "PASS\nIt is kind.", usage });
    const suite = await evalToEnd(app, { agent: "tested" });
    expect(suite.cases[0]).toMatchObject({ judgePassed: true, costUsd: 0 });
    expect(await used()).toEqual([
      ["usdPerWorkspaceMonth", null, 0.00015],
      ["usdPerMemberDay", "admin", 0.00015],
    ]);
  });

  test("a judge is not asked when nothing is left, and says so", async () => {
    const { app, simulator, used } = await world({
      judgeModel: priced,
      budgets: { usdPerMemberDay: 0.00015 },
    });
    // The run uses up the cap to the last cent.
    simulator.script({ text: "Hi!", usage });
    const suite = await evalToEnd(app, { agent: "dear" });
    expect(suite).toMatchObject({ status: "passed", cases: [{ judgePassed: null }] });
    expect(suite.cases[0].judgeReason).toMatch(
      /^The judge was not asked. The budget a day of admin is used up/,
    );
    expect(await used()).toContainEqual(["usdPerMemberDay", "admin", 0.00015]);
    expect(simulator.requests).toHaveLength(1);
  });
});
