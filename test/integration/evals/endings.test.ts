import { describe, expect, it, onTestFinished } from "vitest";
import { LeaseLost } from "../../../src/platform/jobs/index.ts";
import { startApp } from "../../support/app.ts";
import { databases, type Engine } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, evalToEnd, postEval } from "../../support/eval-requests.ts";
import { evalsBeside } from "../../support/evals-beside.ts";
import { startRunCluster } from "../../support/run-cluster.ts";
import { endedRun } from "../../support/run-requests.ts";

const assert = { equals: "Hello" };
const files = agentWithEvals("echo", [{ assert }]);
const many = (count: number) => evalText(...Array.from({ length: count }, () => ({ assert })));
const reason = "superseded by 0123456";

/** A suite that no worker touches, and a second process's evals. */
async function openSuite(engine: Engine, count: number) {
  const app = await startApp({ engine, files, env: { ROLLCALL_ROLES: "web,scheduler" } });
  const beside = evalsBeside(app);
  const id = await postEval(app, { agent: "echo", eval: many(count) });
  const runIds: string[] = await app.db
    .read("eval_runs")
    .where({ suite_id: id })
    .orderBy("case_index")
    .pluck("run_id");
  const { commit_sha: commitSha } = await app.db.read("eval_suites").where({ id }).first();
  const setRuns = (ids: readonly string[], values: object) =>
    app.db.transaction((tx) => tx("runs").whereIn("id", ids).update(values));
  return {
    app,
    ...beside,
    id,
    runIds,
    told: { workspaceId: app.workspaceId, commitSha },
    setRuns,
    /** As if a worker had executed them. */
    succeed: (ids: readonly string[]) => setRuns(ids, { status: "succeeded", output: "Hello", cost_usd: 0 }),
    suite: () => app.db.read("eval_suites").where({ id }).first(),
    supersede: (ids: readonly string[] = [id], workspaceId = app.workspaceId) =>
      app.db.transaction((tx) => beside.evals.supersede(tx, workspaceId, ids, reason)),
  };
}

describe.each(databases())("the end of a suite on %s", (engine) => {
  it("is told once, with the last result", async () => {
    const { runIds, succeed, evaluate, ended, told, suite } = await openSuite(engine, 3);
    const [first = "", ...others] = runIds;
    await succeed(runIds);
    await evaluate(first);
    expect([(await suite()).status, await ended()]).toEqual(["running", []]);
    await Promise.all([...others, ...others].map((runId) => evaluate(runId)));
    await evaluate(first);
    expect([(await suite()).status, await ended()]).toEqual(["passed", [told]]);
  });

  it("is not told when the job turns out to be lost", async () => {
    const { runIds, succeed, evaluate, ended, told, suite } = await openSuite(engine, 1);
    const [runId = ""] = runIds;
    await succeed(runIds);
    const lost = evaluate(runId, () => Promise.reject(new LeaseLost("Another worker has it.")));
    await expect(lost).rejects.toThrow(LeaseLost);
    expect([(await suite()).status, await ended()]).toEqual(["queued", []]);
    await evaluate(runId);
    expect([(await suite()).status, await ended()]).toEqual(["passed", [told]]);
  });

  it("is told when the last case could not be evaluated", async () => {
    const { app, evals, runIds, ended, told, suite } = await openSuite(engine, 2);
    const giveUp = (runId: string) =>
      app.db.transaction(async (tx) => evals.job.onDead?.(tx, { runId }, "It broke."));
    for (const runId of [...runIds, ...runIds]) await giveUp(runId);
    expect([(await suite()).status, await ended()]).toEqual(["failed", [told]]);
  });

  it("is told of a suite that stands on another's results, and not before that is stored", async () => {
    const app = await startApp({ engine, files });
    const ran = await evalToEnd(app, { agent: "echo" });
    const beside = evalsBeside(app);
    const api = await beside.serve();
    onTestFinished(api.stop);
    const post = async (body: object, headers = {}) =>
      (await api.call("POST", "/evals", { key: app.key, body: { agent: "echo", ...body }, headers })).body;
    await post({});
    expect(await beside.ended()).toEqual([]);
    const headers = { "idempotency-key": "once" };
    const twice = [await post({ cache: true }, headers), await post({ cache: true }, headers)];
    expect(twice[1]).toEqual(twice[0]);
    expect(await beside.ended()).toEqual([{ workspaceId: app.workspaceId, commitSha: ran.commitSha }]);
    expect(await app.db.read("eval_suites").whereNotNull("cached_from")).toHaveLength(1);
  });
});

describe.each(databases())("superseding on %s", (engine) => {
  it("ends an open suite with the reason and cancels its queued runs", async () => {
    const { app, id, runIds, succeed, evaluate, supersede, ended, told } = await openSuite(engine, 3);
    const [done = "", ...queued] = runIds;
    await succeed([done]);
    await evaluate(done);
    await supersede();
    await supersede();
    const shown = (await app.request("GET", `/evals/${id}?wait=5`)).json.eval;
    expect(shown).toMatchObject({ status: "error", error: reason, totalCount: 3, passedCount: 1 });
    expect(shown.cases.map((each: { status: string }) => each.status)).toEqual([
      "passed",
      "cancelled",
      "cancelled",
    ]);
    expect(shown.finishedAt).toEqual(expect.any(String));
    expect(await ended()).toEqual([told]);
    for (const runId of queued) {
      const { run } = (await app.request("GET", `/runs/${runId}`)).json;
      expect(run).toMatchObject({ status: "cancelled", failureCode: "cancelled" });
      const trace = await app.request("GET", `/runs/${runId}/events`);
      expect(trace.text.match(/event: run.finished/g)).toHaveLength(1);
    }
    expect((await app.request("GET", `/runs/${done}`)).json.run.status).toBe("succeeded");
  });

  it("is not changed by results that come late", async () => {
    const { app, runIds, setRuns, succeed, evaluate, supersede, suite, ended } = await openSuite(engine, 2);
    const [running = "", queued = ""] = runIds;
    await setRuns([running], { status: "running", attempt: 1 });
    await supersede();
    expect(await app.db.read("runs").where({ id: running }).first()).toMatchObject({
      status: "running",
      cancel_requested_at: expect.any(Number),
    });
    const before = await suite();
    await succeed([running]);
    for (const runId of [running, queued]) await evaluate(runId);
    await evaluate(running);
    expect(await suite()).toEqual(before);
    expect(await app.db.read("eval_runs").whereNotNull("evaluated_at")).toEqual([]);
    expect(await ended()).toHaveLength(1);
  });

  it("and the last result at once: the suite ends in one way", async () => {
    const { app, runIds, succeed, evaluate, supersede, suite, ended } = await openSuite(engine, 1);
    await succeed(runIds);
    await Promise.all([evaluate(runIds[0] ?? ""), supersede(), supersede()]);
    const { status, error } = await suite();
    expect([
      ["passed", null],
      ["error", reason],
    ]).toContainEqual([status, error]);
    const results = await app.db.read("eval_runs").whereNotNull("evaluated_at");
    expect(results).toHaveLength(status === "passed" ? 1 : 0);
    expect(await ended()).toHaveLength(1);
  });

  it("leaves suites alone that have ended, that belong to others, and that do not exist", async () => {
    const { app, id, runIds, succeed, evaluate, supersede, suite, ended } = await openSuite(engine, 1);
    await supersede([id], "ws_other");
    await supersede([]);
    expect((await suite()).status).toBe("queued");
    await succeed(runIds);
    await evaluate(runIds[0] ?? "");
    const before = await suite();
    const runsBefore = await app.db.read("runs");
    await supersede(["eval_gone", id]);
    expect(await suite()).toEqual(before);
    expect(await app.db.read("runs")).toEqual(runsBefore);
    expect(await ended()).toHaveLength(1);
  });

  it("is taken back with its transaction", async () => {
    const { app, evals, id, suite, ended } = await openSuite(engine, 2);
    const runsBefore = await app.db.read("runs");
    const failing = app.db.transaction(async (tx) => {
      await evals.supersede(tx, app.workspaceId, [id], reason);
      throw new Error("The head moved again.");
    });
    await expect(failing).rejects.toThrow("moved again");
    expect(await suite()).toMatchObject({ status: "queued", error: null });
    expect([await app.db.read("runs"), await ended()]).toEqual([runsBefore, []]);
    expect(await app.db.read("jobs").where({ kind: "eval.case" })).toEqual([]);
  });

  it("stops runs that are being executed", async () => {
    const cluster = await startRunCluster(
      engine,
      agentWithEvals("thinker", [{ assert: { contains: "yes" } }], { model: "openai-compatible/test-model" }),
    );
    const app = await cluster.join();
    const never = Promise.withResolvers<void>();
    cluster.simulator.script({ text: "yes", until: never.promise });
    const id = await postEval(app, { agent: "thinker" });
    await cluster.simulator.request(0);
    await app.db.transaction((tx) =>
      evalsBeside(app).evals.supersede(tx, app.workspaceId, [id], "superseded by 0123456"),
    );
    const suite = await endedEval(app, id);
    expect(suite).toMatchObject({ status: "error", cases: [{ status: "cancelled", passed: false }] });
    expect(await endedRun(app, suite.cases[0].runId)).toMatchObject({ status: "cancelled" });
    never.resolve();
  });
});
