import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, postEval } from "../../support/eval-requests.ts";
import { evalsBeside } from "../../support/evals-beside.ts";

const files = agentWithEvals("echo", [{ assert: { equals: "Hello" } }]);
const four = evalText(...Array.from({ length: 4 }, () => ({ assert: { equals: "Hello" } })));

const later = () => Date.now() + 3_600_000;

/** The evals of a process whose clock says that every suite is old. */
const lateEvals = (app: TestApp) => evalsBeside(app, { clock: later });

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
    const { evals } = lateEvals(app);
    await evals.sweep();
    await evals.sweep();
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
    const { evals, ended } = lateEvals(app);
    await evals.sweep();
    await evals.sweep();
    expect((await app.request("GET", `/evals/${going}`)).json.eval.status).toBe("queued");
    expect((await app.request("GET", `/evals/${gone}`)).json.eval).toMatchObject({
      status: "error",
      error: expect.stringContaining("gone"),
      passedCount: 0,
      finishedAt: expect.any(String),
    });
    expect(await app.db.read("jobs").where({ kind: "eval.case" })).toEqual([]);
    const { commit_sha: commitSha } = await app.db.read("eval_suites").where({ id: gone }).first();
    expect(await ended()).toEqual([{ workspaceId: app.workspaceId, commitSha }]);
  });

  it("finds the newest verdict on two texts, and no other suite's", async () => {
    const app = await startApp({ engine, files });
    const { evals } = lateEvals(app);
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
