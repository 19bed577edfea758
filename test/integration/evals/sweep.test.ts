import { describe, expect, it } from "vitest";
import { createEvals, followEvalRuns } from "../../../src/evals/index.ts";
import { loadFramework } from "../../../src/frameworks/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createJobQueue } from "../../../src/platform/jobs/index.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import { createRunSignals, createRuns } from "../../../src/runs/index.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, postEval } from "../../support/eval-requests.ts";

const files = agentWithEvals("echo", [{ assert: { equals: "Hello" } }]);
const four = evalText(...Array.from({ length: 4 }, () => ({ assert: { equals: "Hello" } })));

const unused = () => {
  throw new Error("Sweeping needs none of this.");
};

/** The evals of a process whose clock says that every suite is old. */
function lateEvals({ db }: TestApp) {
  const ids = createIds();
  const clock = () => Date.now() + 3_600_000;
  const logger = createLogger("silent", createRedactor());
  const queue = createJobQueue(db, ids, Date.now);
  // Agents, connections and settings are for making suites.
  const shared = { db, ids, clock, logger, queue, agents: {} as never, connections: {} as never };
  const signals = createRunSignals();
  const runs = createRuns({ ...shared, signals, followUps: followEvalRuns, abort: unused });
  const settings = { modelKeys: unused, evals: unused };
  return createEvals({ ...shared, runs, settings, loadFramework, readAgentAt: unused });
}

describe.each(databases())("looking after open suites on %s", (engine) => {
  it("evaluates what has lost its job, and closes what only lacks the closing", async () => {
    const app = await startApp({ engine, files });
    const ids = await Promise.all([1, 2].map(() => postEval(app, { agent: "echo", eval: four })));
    for (const id of ids) await endedEval(app, id);
    const [first, second] = ids;
    await app.db.transaction(async (tx) => {
      const reopened = { status: "running", finished_at: null, passed_count: 0 };
      await tx("eval_suites").update(reopened);
      const lost = { evaluated_at: null, passed: null, assertions: null };
      await tx("eval_runs").where({ suite_id: first }).whereIn("case_index", [1, 2]).update(lost);
    });
    const late = lateEvals(app);
    await late.sweep();
    await late.sweep();
    for (const id of [first, second]) {
      const suite = await endedEval(app, id ?? "");
      expect(suite).toMatchObject({ status: "passed", passedCount: 4 });
    }
    expect(await app.db.read("jobs")).toEqual([]);
  });

  it("leaves suites alone whose runs go on, and ends those whose runs are gone", async () => {
    const app = await startApp({ engine, files, env: { ROLLCALL_ROLES: "web,scheduler" } });
    const going = await postEval(app, { agent: "echo", eval: four });
    const gone = await postEval(app, { agent: "echo", eval: four });
    await app.db.transaction(async (tx) => {
      const ids = await tx("eval_runs").where({ suite_id: gone }).pluck("run_id");
      await tx("runs").where({ id: ids[0] }).delete();
    });
    const late = lateEvals(app);
    await late.sweep();
    expect((await app.request("GET", `/evals/${going}`)).json.eval.status).toBe("queued");
    expect((await app.request("GET", `/evals/${gone}`)).json.eval).toMatchObject({
      status: "error",
      error: expect.stringContaining("gone"),
      passedCount: 0,
      finishedAt: expect.any(String),
    });
    expect(await app.db.read("jobs").where({ kind: "eval.case" })).toEqual([]);
  });

  it("finds the newest verdict on two texts, and no other suite's", async () => {
    const app = await startApp({ engine, files });
    const evals = lateEvals(app);
    const passed = await postEval(app, { agent: "echo" });
    await endedEval(app, passed);
    const { spec_sha, eval_sha } = await app.db.read("eval_suites").first();
    const verdict = (spec = spec_sha, text = eval_sha, agent = "echo") =>
      evals.newestVerdict(app.workspaceId, agent, spec, text);
    expect(await verdict()).toEqual({ status: "passed", evalId: passed });
    await endedEval(app, await postEval(app, { agent: "echo", eval: four }));
    expect(await verdict()).toEqual({ status: "passed", evalId: passed });
    const newer = await postEval(app, { agent: "echo" });
    await endedEval(app, newer);
    const set = (status: string) =>
      app.db.transaction((tx) => tx("eval_suites").where({ id: newer }).update({ status }));
    await set("failed");
    expect(await verdict()).toEqual({ status: "failed", evalId: newer });
    for (const status of ["error", "running", "queued"]) {
      await set(status);
      expect(await verdict()).toEqual({ status: "passed", evalId: passed });
    }
    for (const none of [verdict("0"), verdict(spec_sha, "0"), verdict(spec_sha, eval_sha, "other")])
      expect(await none).toBeUndefined();
  });
});
