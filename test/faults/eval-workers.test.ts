import { describe, expect, it } from "vitest";
import { databases } from "../support/databases.ts";
import { agentWithEvals, endedEval, evalText, postEval } from "../support/eval-requests.ts";
import { startRunCluster } from "../support/run-cluster.ts";

const model = "openai-compatible/test-model";
const files = {
  ...agentWithEvals("thinker", [{ assert: { equals: "a" } }], { model }),
  ...agentWithEvals("echo", [{ assert: { equals: "Hello" } }]),
};
const onlyWeb = { ROLLCALL_ROLES: "web,scheduler" };
const onlyWorker = { ROLLCALL_ROLES: "worker" };
const never = { text: "never", until: new Promise(() => {}) };

const suiteOf = (count: number, rest: object = {}) =>
  evalText(...Array.from({ length: count }, (_, n) => ({ input: `${n}`, assert: { equals: "a" }, ...rest })));

describe.each(databases())("suites whose worker is killed on %s", (engine) => {
  it("end all the same: what was done stays, the rest is done by another", async () => {
    const { simulator, ...cluster } = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    const { script } = await cluster.spawn(onlyWorker);
    simulator.script(...Array.from({ length: 12 }, () => ({ text: "a" })), ...Array(8).fill(never));
    const id = await postEval(web, { agent: "thinker", eval: suiteOf(20) });
    await simulator.request(19);
    const evaluated = () =>
      web.db.read("eval_runs").whereNotNull("evaluated_at").pluck("run_id") as Promise<string[]>;
    await expect.poll(async () => (await evaluated()).length, { timeout: 15_000 }).toBe(12);
    const done = await web.db.read("eval_runs").whereIn("run_id", await evaluated());
    await script.kill("SIGKILL");
    simulator.script(...Array.from({ length: 8 }, () => ({ text: "a" })));
    await cluster.spawn(onlyWorker);
    expect(await endedEval(web, id)).toMatchObject({ status: "passed", totalCount: 20, passedCount: 20 });
    const ids = done.map((row) => row.run_id);
    expect(await web.db.read("eval_runs").whereIn("run_id", ids)).toEqual(done);
    expect(simulator.requests).toHaveLength(28);
    expect(await web.db.read("jobs")).toEqual([]);
  });

  it("in the middle of a judgement: another worker asks again, and the verdict is there once", async () => {
    const { simulator, ...cluster } = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    await web.request("PATCH", "/settings", { body: { judgeModel: "openai-compatible/judge" } });
    const { script } = await cluster.spawn(onlyWorker);
    simulator.script({ text: "a" }, never);
    const id = await postEval(web, { agent: "thinker", eval: suiteOf(1, { judge: { rubric: "short" } }) });
    await simulator.request(1);
    expect((await web.request("GET", `/evals/${id}`)).json.eval.status).toBe("running");
    await script.kill("SIGKILL");
    simulator.script({ text: "PASS" });
    await cluster.spawn(onlyWorker);
    expect(await endedEval(web, id)).toMatchObject({
      status: "passed",
      cases: [{ passed: true, judgePassed: true }],
    });
  });

  it("a run that has lost its last worker fails its case, and the suite ends", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    const id = await postEval(web, { agent: "echo", eval: suiteOf(2, { input: "a" }) });
    const lost = { state: "running", attempt: 3, claim: "clm_gone", lease_until: 1 };
    await web.db.transaction(async (tx) => {
      const [job] = await tx("jobs").where({ kind: "run" }).orderBy("id").pluck("id");
      await tx("jobs").where({ id: job }).update(lost);
    });
    await cluster.spawn(onlyWorker);
    const suite = await endedEval(web, id);
    expect(suite).toMatchObject({ status: "failed", passedCount: 1 });
    expect(suite.cases[0].assertions).toMatchObject([{ kind: "run", passed: false }]);
  });

  it("a worker that is told to stop while the judge thinks hands the case over", async () => {
    const { simulator, ...cluster } = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    await web.request("PATCH", "/settings", { body: { judgeModel: "openai-compatible/judge" } });
    const { script } = await cluster.spawn(onlyWorker);
    simulator.script({ text: "a" }, never);
    const id = await postEval(web, { agent: "thinker", eval: suiteOf(1, { judge: { rubric: "short" } }) });
    await simulator.request(1);
    expect(await script.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(await web.db.read("eval_runs").first()).toMatchObject({ evaluated_at: null });
    simulator.script({ text: "FAIL" });
    await cluster.spawn(onlyWorker);
    expect(await endedEval(web, id)).toMatchObject({ status: "passed", cases: [{ judgePassed: false }] });
  });
});
