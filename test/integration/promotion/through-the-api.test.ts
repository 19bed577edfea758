import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { spec } from "./promotion-service.ts";

const specFile = "agents/ai-sdk/a.yaml";

const promote = (app: TestApp, version?: unknown) =>
  app.request("POST", "/agents/a/promote", { body: { version } });

/** Version, environment and status of a finished run. */
async function run(app: TestApp, version?: unknown) {
  const created = await app.request("POST", "/runs", { body: { agent: "a", message: "Hello", version } });
  if (created.status !== 202) return created.status;
  const { json } = await app.request("GET", `/runs/${created.json.run_id}?wait=30`);
  return [json.run.version, json.run.runEnvironment, json.run.status];
}

async function shownVersions(app: TestApp) {
  const [listed] = (await app.request("GET", "/agents")).json.agents;
  const { agent } = (await app.request("GET", "/agents/a")).json;
  expect(listed.versions).toEqual(agent.versions);
  return agent.versions;
}

describe.each(databases())("promotion of an agent in the service on %s", (engine) => {
  it("makes its runs Production, and a broken draft does not stop them", async () => {
    const app = await startApp({ engine, files: { [specFile]: spec("a", "One.") } });
    expect(await shownVersions(app)).toEqual({ stable: null, latest: null });
    expect(await run(app)).toEqual(["draft", "Development", "succeeded"]);
    expect([await run(app, "stable"), await run(app, 1)]).toEqual([422, 404]);

    expect((await promote(app)).status).toBe(200);
    await app.commit({ [specFile]: spec("a", "Two.") });
    expect((await promote(app)).json.version.number).toBe(2);
    expect((await promote(app, 1)).json.version.number).toBe(1);
    expect(await shownVersions(app)).toEqual({ stable: 1, latest: 2 });
    for (const version of [undefined, "stable", 1])
      expect(await run(app, version)).toEqual(["1", "Production", "succeeded"]);
    expect(await run(app, 2)).toEqual(["2", "Production", "succeeded"]);
    expect(await run(app, "draft")).toEqual(["draft", "Development", "succeeded"]);
    const { runs } = (await app.request("GET", "/runs?environment=production")).json;
    expect(runs.map(({ version }: { version: string }) => version)).toEqual(["2", "1", "1", "1"]);

    await app.commit({ [specFile]: "name: a" });
    expect((await promote(app)).status).toBe(422);
    expect(await run(app, "draft")).toBe(422);
    expect(await run(app)).toEqual(["1", "Production", "succeeded"]);
    expect((await promote(app, 2)).status).toBe(200);
    expect(await run(app)).toEqual(["2", "Production", "succeeded"]);

    await app.commit({ [specFile]: null });
    expect([await run(app), await run(app, 2), (await promote(app, 1)).status]).toEqual([404, 404, 404]);
    const { versions } = (await app.request("GET", "/agents/a/versions")).json;
    expect(versions.map(({ number }: { number: number }) => number)).toEqual([2, 1]);

    const { entries } = (await app.request("GET", "/audit-log?action=promoteAgent")).json;
    expect(
      entries.map(({ target, details }: { target: string; details: object }) => [target, details]),
    ).toEqual([
      ["a", { kind: "rollback", before: 1, after: 2 }],
      ["a", { kind: "rollback", before: 2, after: 1 }],
      ["a", { kind: "promotion", before: 1, after: 2 }],
      ["a", { kind: "promotion", before: null, after: 1 }],
    ]);
  });

  it("waits for the evals of the draft, whoever ran them, and stays open for these two texts alone", async () => {
    const evalFile = "agents/ai-sdk/a.eval.yaml";
    const [one, two] = [spec("a", "One."), spec("a", "Two.")];
    // The built-in model says what it is told, so a case passes when it asks for its own input.
    const suite = (input: string, wanted: string) =>
      `cases:\n  - name: one\n    input: ${input}\n    assert: {contains: ${wanted}}\n`;
    const app = await startApp({ engine, files: { [specFile]: one, [evalFile]: suite("x", "y") } });
    const refused = async () => (await promote(app)).json.details;
    const evaluate = async (body: object = {}) => {
      const { json } = await app.request("POST", "/evals", { body: { agent: "a", ...body } });
      const answer = await app.request("GET", `/evals/${json.eval_id}?wait=30`);
      return [answer.json.eval.status, json.eval_id];
    };

    expect(await refused()).toEqual({ reason: "evals_missing" });
    const [failed, failedId] = await evaluate();
    expect(failed).toBe("failed");
    expect(await refused()).toEqual({ reason: "evals_failed", evalId: failedId });
    // A suite that passes with easier evals than those of the draft opens nothing.
    expect((await evaluate({ eval: suite("x", "x") }))[0]).toBe("passed");
    expect(await refused()).toEqual({ reason: "evals_failed", evalId: failedId });

    await app.commit({ [evalFile]: suite("x", "x") });
    const promoted = await promote(app);
    expect([promoted.status, promoted.json.version]).toMatchObject([200, { number: 1, stable: true }]);
    expect(await run(app)).toEqual(["1", "Production", "succeeded"]);

    await app.commit({ [specFile]: two });
    expect(await refused()).toEqual({ reason: "evals_missing" });
    expect((await evaluate({ spec: one }))[0]).toBe("passed");
    expect(await refused()).toEqual({ reason: "evals_missing" });
    const [passed, evalId] = await evaluate();
    expect(passed).toBe("passed");
    expect((await promote(app)).json.version).toMatchObject({ number: 2, evalId });
    await app.commit({ [evalFile]: suite("z", "z") });
    expect(await refused()).toEqual({ reason: "evals_missing" });
    expect((await promote(app, 1)).json.version.number).toBe(1);
    expect(await shownVersions(app)).toEqual({ stable: 1, latest: 2 });
  });
});
