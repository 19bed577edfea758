import { describe, expect, it, onTestFinished } from "vitest";
import type { PostingSuite, StatusPosts } from "../../../src/evals/index.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, evalToEnd } from "../../support/eval-requests.ts";
import { agentIn, type EvalsBeside, evalsBeside } from "../../support/evals-beside.ts";

const assert = { equals: "Hello" };
const files = {
  ...agentWithEvals("echo", [{ assert }]),
  ...agentWithEvals("other", [{ assert }]),
  ...agentWithEvals("tools", [{ assert }], { connections: ["ROLLCALL_CURRENT_TIME"] }),
  ...agentWithEvals("unconnected", [{ assert }], { connections: ["ROLLCALL_CURRENT_TIME", "GITHUB_STAR"] }),
};
const commitSha = "e".repeat(40);

/** Has a suite of the agent's files run by the service's workers and answers it once it has ended. */
async function evaluate(app: TestApp, beside: EvalsBeside, name: string, login: string | null) {
  const user = { workspaceId: app.workspaceId, login };
  const setup = { commitSha, cache: false };
  const suite = await beside.evals.prepareAt(user, agentIn(files, name), setup);
  return endedEval(app, await beside.commit(suite));
}

describe.each(databases())("suites of pull requests on %s", (engine) => {
  it("run the agent's files of a commit as the member that is given", async () => {
    const app = await startApp({ engine, files });
    await app.member("ada", "operator");
    const suite = await evaluate(app, evalsBeside(app), "echo", "ada");
    expect(suite).toMatchObject({
      agent: "echo",
      status: "passed",
      source: "pull_request",
      version: "draft",
      commitSha,
      runAs: "ada",
      cached: false,
    });
    const { run } = (await app.request("GET", `/runs/${suite.cases[0].runId}`)).json;
    expect(run).toMatchObject({ runAs: "ada", commitSha, evalId: suite.id });
  });

  it("run as nobody: without connections, which fails where one is needed", async () => {
    const app = await startApp({ engine, files });
    const beside = evalsBeside(app);
    for (const name of ["echo", "tools"])
      expect(await evaluate(app, beside, name, null)).toMatchObject({ status: "passed", runAs: null });
    const suite = await evaluate(app, beside, "unconnected", null);
    expect(suite).toMatchObject({ status: "failed", runAs: null, passedCount: 0 });
    expect(suite.cases[0].assertions).toMatchObject([{ kind: "run", passed: false }]);
    const { run } = (await app.request("GET", `/runs/${suite.cases[0].runId}`)).json;
    expect(run).toMatchObject({ status: "failed", failureCode: "connection_missing", runAs: null });
    expect(run.errorDetails).toContain("GITHUB_STAR");
    const { evals } = (await app.request("GET", "/evals?agent=echo")).json;
    expect(evals).toMatchObject([{ runAs: null }]);
  });

  it("take an earlier result when they may, and tell nobody of it", async () => {
    const app = await startApp({ engine, files });
    const beside = evalsBeside(app);
    const ran = await evalToEnd(app, { agent: "echo" });
    const suite = await beside.evals.prepareAt(
      { workspaceId: app.workspaceId, login: null },
      agentIn(files, "echo"),
      { commitSha, cache: true },
    );
    expect(suite.status).toBe("passed");
    const shown = await endedEval(app, await beside.commit(suite));
    expect(shown).toMatchObject({ cachedFrom: ran.id, source: "pull_request", commitSha, runAs: null });
    expect(shown.cases).toEqual(ran.cases);
    expect(await beside.ended()).toEqual([]);
  });

  it("have verdicts, the newest on two texts, in the order in which they are asked for", async () => {
    const app = await startApp({ engine, files });
    const { evals } = evalsBeside(app);
    const textsOf = async (id: string) => {
      const row = await app.db.read("eval_suites").where({ id }).first();
      return { agent: row.agent, specSha: row.spec_sha, evalSha: row.eval_sha };
    };
    const old = await evalToEnd(app, { agent: "echo" });
    const failing = evalText(
      { name: "good", assert },
      { name: "bad", repeats: 2, assert: { equals: "Good\nbye", max_chars: 3 } },
    );
    const failed = await evalToEnd(app, { agent: "other", eval: failing });
    const newest = await evalToEnd(app, { agent: "echo" });
    const [echo, other] = [await textsOf(old.id), await textsOf(failed.id)];
    const verdicts = await evals.verdicts(app.workspaceId, [
      other,
      { ...echo, evalSha: "0" },
      echo,
      { ...other, agent: "echo" },
      other,
    ]);
    expect(verdicts.map((each) => each?.evalId)).toEqual([
      failed.id,
      undefined,
      newest.id,
      undefined,
      failed.id,
    ]);
    expect(verdicts[0]).toEqual({
      evalId: failed.id,
      status: "failed",
      totalCount: 2,
      passedCount: 1,
      cached: false,
      costUsd: 0,
      cases: [
        { name: "good", passed: true, detail: "", judgePassed: null },
        {
          name: "bad",
          passed: false,
          detail:
            '2 of 2 runs failed. The output is "Hello", not "Good\\nbye". It took 5 characters; at most 3 are allowed.',
          judgePassed: null,
        },
      ],
    });
    const again = await evalToEnd(app, { agent: "echo", cache: true });
    expect(await evals.verdicts(app.workspaceId, [echo])).toMatchObject([
      { evalId: again.id, status: "passed", cached: true, cases: [{ name: "case 0", passed: true }] },
    ]);
    expect(await evals.verdicts("ws_other", [echo])).toEqual([undefined]);
    expect(await evals.verdicts(app.workspaceId, [])).toEqual([]);
  });

  it("have states, by their ids", async () => {
    const app = await startApp({ engine, files, env: { ROLLCALL_ROLES: "web,scheduler" } });
    const beside = evalsBeside(app);
    const user = { workspaceId: app.workspaceId, login: null };
    const setup = { commitSha, cache: true };
    const [open, ended, part] = await Promise.all(
      ["echo", "other", "tools"].map((name) => beside.evals.prepareAt(user, agentIn(files, name), setup)),
    );
    if (!open || !ended || !part) throw new Error("A suite is missing.");
    for (const suite of [open, ended, part]) await beside.commit(suite);
    await app.db.transaction(async (tx) => {
      await beside.evals.supersede(tx, app.workspaceId, [ended.id], "superseded by e");
      const result = { evaluated_at: 1, passed: 1 };
      await tx("eval_runs").where({ suite_id: part.id }).update(result);
    });
    const states = await beside.evals.states(app.workspaceId, [open.id, ended.id, part.id, "eval_gone"]);
    const counts = { totalCount: 1, passedCount: 0, cached: false };
    expect(states).toEqual(
      new Map([
        [open.id, { ...counts, status: "queued" }],
        [ended.id, { ...counts, status: "error", error: "superseded by e" }],
        [part.id, { ...counts, status: "running", passedCount: 1 }],
      ]),
    );
    expect(await beside.evals.states("ws_other", [open.id])).toEqual(new Map());
  });

  it("show what became of their commit's status, each by itself", async () => {
    const app = await startApp({ engine, files });
    const asked: PostingSuite[] = [];
    const statusPosts: StatusPosts = async (suites) => {
      asked.push(...suites);
      return new Map(
        suites
          .filter((suite) => suite.commitSha === commitSha)
          .map(({ id }) => [id, { state: "skipped", reason: "The head has moved on." }]),
      );
    };
    const beside = evalsBeside(app, { statusPosts });
    const posted = await evaluate(app, beside, "echo", null);
    const plain = await evalToEnd(app, { agent: "echo" });
    const api = await beside.serve();
    onTestFinished(api.stop);
    const get = async (path: string) => (await api.call("GET", path, { key: app.key })).body;
    const skipped = { state: "skipped", reason: "The head has moved on." };
    expect((await get(`/evals/${posted.id}`)).eval.statusPost).toEqual(skipped);
    expect((await get(`/evals/${plain.id}`)).eval.statusPost).toEqual({ state: "none" });
    expect((await get("/evals?agent=echo")).evals).toMatchObject([
      { id: plain.id, statusPost: { state: "none" } },
      { id: posted.id, statusPost: skipped },
    ]);
    const row = await app.db.read("eval_suites").where({ id: posted.id }).first();
    expect(asked[0]).toEqual({
      id: posted.id,
      workspaceId: app.workspaceId,
      agent: "echo",
      commitSha,
      specSha: row.spec_sha,
      evalSha: row.eval_sha,
    });
  });
});
