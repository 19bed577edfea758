import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Tx } from "../../../src/platform/db/index.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, evalToEnd, postEval } from "../../support/eval-requests.ts";
import { startRunCluster } from "../../support/run-cluster.ts";

const model = "openai-compatible/test-model";
const files = {
  ...agentWithEvals("thinker", [{ input: "Think", assert: { contains: "yes" }, judge: { rubric: "kind" } }], {
    model,
  }),
  ...agentWithEvals(
    "tools",
    [{ assert: { tool_called: "ROLLCALL_CURRENT_TIME", tool_not_called: "ROLLCALL_READ_FILE" } }],
    { model, connections: ["ROLLCALL_CURRENT_TIME", "ROLLCALL_READ_FILE"] },
  ),
  ...agentWithEvals("echo", [{ assert: { equals: "Hello" } }]),
};
const many = (count: number, rest: object = { assert: { contains: "case" } }) =>
  evalText(...Array.from({ length: count }, (_, n) => ({ input: `case ${n}`, ...rest })));

describe("the judge", () => {
  it("gives an opinion that decides nothing, through the workspace's model", async () => {
    const cluster = await startRunCluster("sqlite", files);
    const app = await cluster.join();
    await app.request("PATCH", "/settings", { body: { judgeModel: "openai-compatible/judge" } });
    cluster.simulator.script({ text: "Oh yes" }, { text: "FAIL\nIt is not kind." });
    const suite = await evalToEnd(app, { agent: "thinker" });
    expect(suite).toMatchObject({ status: "passed", passedCount: 1 });
    expect(suite.cases[0]).toMatchObject({
      passed: true,
      judgePassed: false,
      judgeReason: "It is not kind.",
    });
    const asked = cluster.simulator.requests[1]?.body;
    expect(asked.model).toBe("judge");
    expect(JSON.parse(asked.messages.at(-1).content)).toEqual({
      rubric: "kind",
      input: "Think",
      output: "Oh yes",
    });
    cluster.simulator.script({ text: "no" }, { text: "PASS" });
    const failed = await evalToEnd(app, { agent: "thinker" });
    expect([failed.status, failed.cases[0].judgePassed]).toEqual(["failed", true]);
  });

  it.each([
    ["answers something else", { text: "Perhaps." }, "neither"],
    ["refuses the key", { status: 401 }, "credentials"],
  ])("has no opinion when its model %s", async (_what, reply, reason) => {
    const cluster = await startRunCluster("sqlite", files);
    const app = await cluster.join();
    await app.request("PATCH", "/settings", { body: { judgeModel: "openai-compatible/judge" } });
    cluster.simulator.script({ text: "yes" }, reply);
    const [result] = (await evalToEnd(app, { agent: "thinker" })).cases;
    expect(result).toMatchObject({
      passed: true,
      judgePassed: null,
      judgeReason: expect.stringContaining(reason),
    });
  });

  it("is not asked without a model, nor about a run that failed", async () => {
    const cluster = await startRunCluster("sqlite", files);
    const app = await cluster.join();
    cluster.simulator.script({ text: "yes" });
    const [unset] = (await evalToEnd(app, { agent: "thinker" })).cases;
    expect(unset).toMatchObject({ judgePassed: null, judgeReason: expect.stringContaining("judgeModel") });
    await app.request("PATCH", "/settings", { body: { judgeModel: "anthropic/claude" } });
    cluster.simulator.script({ text: "yes" });
    const [unconfigured] = (await evalToEnd(app, { agent: "thinker" })).cases;
    expect(unconfigured).toMatchObject({ passed: true, judgePassed: null });
    cluster.simulator.script({ status: 401 });
    const [failed] = (await evalToEnd(app, { agent: "thinker" })).cases;
    expect(failed).toMatchObject({ passed: false, judgePassed: null });
    expect(failed).not.toHaveProperty("judgeReason");
    expect(cluster.simulator.requests).toHaveLength(3);
  });
});

describe.each(databases())("evaluation on %s", (engine) => {
  it("knows which tools a run called", async () => {
    const cluster = await startRunCluster(engine, files);
    const app = await cluster.join();
    cluster.simulator.script({ toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }] }, { text: "Noon." });
    expect(await evalToEnd(app, { agent: "tools" })).toMatchObject({ status: "passed" });
    cluster.simulator.script({ text: "No idea." });
    const suite = await evalToEnd(app, { agent: "tools" });
    expect(suite.cases[0].assertions).toMatchObject([
      { kind: "tool_called", passed: false },
      { kind: "tool_not_called", passed: true },
    ]);
  });

  it("a case whose run is cancelled fails, queued or running", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const id = await postEval(web, { agent: "thinker", eval: many(2) });
    const { cases, status } = (await web.request("GET", `/evals/${id}`)).json.eval;
    expect([status, cases.map((each: { status: string }) => each.status)]).toEqual([
      "queued",
      ["queued", "queued"],
    ]);
    await web.request("POST", `/runs/${cases[0].runId}/cancel`);
    const never = Promise.withResolvers<void>();
    cluster.simulator.script({ text: "late", until: never.promise });
    await cluster.join({ ROLLCALL_ROLES: "worker" });
    await cluster.simulator.request(0);
    expect((await web.request("GET", `/evals/${id}`)).json.eval.status).toBe("running");
    await web.request("POST", `/runs/${cases[1].runId}/cancel`);
    const suite = await endedEval(web, id);
    expect(suite).toMatchObject({ status: "failed", passedCount: 0 });
    for (const each of suite.cases)
      expect(each.assertions).toMatchObject([{ kind: "run", detail: expect.stringContaining("cancelled") }]);
    never.resolve();
  });

  it("several processes and many suites: each is closed once, with every result", async () => {
    const cluster = await startRunCluster(engine, files);
    const apps = await Promise.all([1, 2, 3].map(() => cluster.join()));
    const posts = Array.from({ length: 9 }, async (_, n) => {
      const app = apps[n % 3] ?? apps[0];
      if (!app) throw new Error("There is no process.");
      return postEval(app, { agent: "echo", eval: many(20) });
    });
    const ids = await Promise.all(posts);
    const [app] = apps;
    for (const id of ids) {
      const suite = app && (await endedEval(app, id));
      expect(suite).toMatchObject({ status: "passed", totalCount: 20, passedCount: 20 });
      expect(suite.cases.every((each: { passed: boolean }) => each.passed)).toBe(true);
    }
    expect(await app?.db.read("jobs")).toEqual([]);
    expect(await app?.db.read("eval_runs").whereNull("evaluated_at")).toEqual([]);
  });

  it("a job that is done twice changes nothing, and closes nothing twice", async () => {
    const cluster = await startRunCluster(engine, files);
    const app = await cluster.join();
    const suite = await evalToEnd(app, { agent: "echo" });
    const before = await app.db.read("eval_suites").first();
    const payload = JSON.stringify({ runId: suite.cases[0].runId });
    const job = { kind: "eval.case", payload, state: "queued", run_at: 1, attempt: 0, created_at: 1 };
    await app.db.transaction(async (tx) => {
      await tx("jobs").insert([
        { ...job, id: "job_1" },
        { ...job, id: "job_2" },
        { ...job, id: "job_3", payload: JSON.stringify({ runId: "run_gone" }) },
      ]);
    });
    while (await app.db.read("jobs").first()) await sleep(10);
    expect(await app.db.read("eval_suites").first()).toEqual(before);
  });

  it("a case that cannot be evaluated fails in the end, and the suite is closed", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const id = await postEval(web, { agent: "echo", eval: many(3) });
    // A suite that nobody can read any more.
    await web.db.transaction((tx) => tx("eval_runs").where({ case_index: 1 }).update({ case_index: 17 }));
    const worker = await cluster.join({ ROLLCALL_ROLES: "worker" });
    // The try before the last one.
    const failing = { kind: "eval.case", state: "queued" };
    const lastTry = (tx: Tx) =>
      tx("jobs").where(failing).whereNotNull("error").update({ attempt: 4, run_at: 1 });
    await expect.poll(() => web.db.transaction(lastTry), { timeout: 15_000 }).toBe(1);
    const suite = await endedEval(web, id);
    expect(suite).toMatchObject({ status: "failed" });
    expect(suite.cases[0]).toMatchObject({ passed: true });
    expect(await worker.db.read("jobs").where({ kind: "eval.case", state: "dead" })).toHaveLength(1);
  });
});
