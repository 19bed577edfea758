import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, evalText, evalToEnd, postEval } from "../../support/eval-requests.ts";
import { agentIn, evalsBeside } from "../../support/evals-beside.ts";
import { specText } from "../../support/run-requests.ts";

const files = {
  ...agentWithEvals("echo", [
    { assert: { equals: "Hello" } },
    { name: "twice", repeats: 2, assert: { contains: "hello" } },
  ]),
  ...agentWithEvals("failing", [{ assert: { equals: "Bye" } }]),
  ...agentWithEvals("unconnected", [{ assert: { equals: "Hello" } }], { connections: ["GITHUB_STAR"] }),
};
const cached = { agent: "echo", cache: true };
const countRuns = async (app: TestApp) => (await app.db.read("runs")).length;

describe.each(databases())("the result cache on %s", (engine) => {
  it("runs what was never run, and then lets that stand in", async () => {
    const app = await startApp({ engine, files });
    const ran = await evalToEnd(app, cached);
    expect([ran.status, ran.cached]).toEqual(["passed", false]);
    const runs = await countRuns(app);
    const id = await postEval(app, { ...cached, source: "ci" });
    // No wait: it has ended as it was made.
    const suite = (await app.request("GET", `/evals/${id}`)).json.eval;
    const { id: _id, createdAt: _created, finishedAt: _finished, source: _source, ...same } = ran;
    expect(suite).toEqual({
      ...same,
      id,
      source: "ci",
      cached: true,
      cachedFrom: ran.id,
      createdAt: expect.any(String),
      finishedAt: suite.createdAt,
    });
    expect(suite.cases[1].runs).toHaveLength(2);
    expect(await countRuns(app)).toBe(runs);
    const again = await evalToEnd(app, cached);
    expect(again).toMatchObject({ cached: true, cachedFrom: ran.id });
    const { evals } = (await app.request("GET", "/evals?agent=echo")).json;
    expect(evals).toMatchObject([
      { id: again.id, status: "passed", passedCount: 2, cachedFrom: ran.id, cases: ran.cases.map(outline) },
      { id, cached: true, cases: ran.cases.map(outline) },
      { id: ran.id, cached: false, cases: ran.cases.map(outline) },
    ]);
  });

  it("is off unless it is asked for", async () => {
    const app = await startApp({ engine, files });
    for (const body of [{ agent: "echo" }, { agent: "echo" }, { agent: "echo", cache: false }])
      expect(await evalToEnd(app, body)).toMatchObject({ status: "passed", cached: false });
    expect(await countRuns(app)).toBe(9);
    expect((await app.request("POST", "/evals", { body: { agent: "echo", cache: "yes" } })).status).toBe(400);
  });

  it("knows a suite by both of its texts and its agent", async () => {
    const app = await startApp({ engine, files });
    await evalToEnd(app, { agent: "echo" });
    const changed = [
      { eval: evalText({ assert: { equals: "Hello" } }) },
      { spec: specText("echo", { description: "Changed." }) },
      { eval: `${files["agents/ai-sdk/echo.eval.json"]}\n` },
    ];
    for (const texts of changed) {
      expect(await evalToEnd(app, { ...cached, ...texts })).toMatchObject({ cached: false });
      expect(await evalToEnd(app, { ...cached, ...texts })).toMatchObject({ cached: true });
    }
    const given = {
      spec: files["agents/ai-sdk/echo.json"],
      eval: files["agents/ai-sdk/echo.eval.json"],
      commitSha: "c".repeat(40),
    };
    expect(await evalToEnd(app, { ...cached, ...given })).toMatchObject({
      cached: true,
      commitSha: given.commitSha,
    });
  });

  it("never reuses a failure, nor a success that a failure came after", async () => {
    const app = await startApp({ engine, files });
    for (let time = 0; time < 2; time++) {
      const suite = await evalToEnd(app, { agent: "failing", cache: true });
      expect(suite).toMatchObject({ status: "failed", cached: false });
    }
    const passed = await evalToEnd(app, { agent: "echo" });
    const failed = await evalToEnd(app, { agent: "echo" });
    const set = (status: string) =>
      app.db.transaction((tx) => tx("eval_suites").where({ id: failed.id }).update({ status }));
    await set("failed");
    expect(await evalToEnd(app, cached)).toMatchObject({ status: "passed", cached: false });
    await app.db.transaction((tx) => tx("eval_suites").where("id", ">", failed.id).delete());
    for (const nothing of ["error", "running", "queued"]) {
      await set(nothing);
      expect(await evalToEnd(app, cached)).toMatchObject({ cachedFrom: passed.id });
    }
  });

  it("gives verdicts that count for promotion, and needs no connections", async () => {
    const app = await startApp({ engine, files });
    const { evals } = evalsBeside(app);
    await evalToEnd(app, { agent: "echo" });
    const { id } = await evalToEnd(app, cached);
    const row = await app.db.read("eval_suites").where({ id }).first();
    expect(await evals.newestVerdict(app.workspaceId, "echo", row.spec_sha, row.eval_sha)).toEqual({
      status: "passed",
      evalId: id,
    });
    const body = { agent: "unconnected", cache: true };
    expect((await app.request("POST", "/evals", { body })).status).toBe(422);
    // As if it had passed for a member who has the connection.
    const agent = agentIn(files, "unconnected");
    const passing = evalsBeside(app);
    const suite = await passing.evals.prepareAt({ workspaceId: app.workspaceId, login: "ada" }, agent, {
      commitSha: "d".repeat(40),
      cache: true,
    });
    expect(suite.status).toBe("queued");
    await passing.commit(suite);
    await app.db.transaction((tx) => tx("eval_suites").where({ id: suite.id }).update({ status: "passed" }));
    expect((await app.request("POST", "/evals", { body })).status).toBe(202);
  });
});

/** What lists show of a case. */
function outline({ name, status, runId }: Record<string, unknown>) {
  return { name, status, runId };
}
