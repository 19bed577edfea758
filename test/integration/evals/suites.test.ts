import { describe, expect, it } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, endedEval, evalText, evalToEnd, postEval } from "../../support/eval-requests.ts";
import { specText } from "../../support/run-requests.ts";

const files = {
  ...agentWithEvals("greeter", [
    { name: "greets", input: "Hello, Ada", assert: { contains: "hello", max_chars: 20 } },
    { name: "says no more", input: "Bye", assert: { equals: "Bye", regex: "^B.e$" } },
  ]),
  ...agentWithEvals("mixed", [
    { input: "one", assert: { contains: "one" } },
    { input: "two", assert: { not_contains: ["t"], equals: "two" } },
    { input: "", assert: { max_chars: 5 } },
  ]),
  ...agentWithEvals("unconfigured", [{ assert: { max_chars: 5 } }], { model: "openai/gpt-5-mini" }),
  ...agentWithEvals("unconnected", [{ assert: { max_chars: 5 } }], { connections: ["GITHUB_STAR"] }),
  "agents/ai-sdk/bare.json": specText("bare"),
  "agents/ai-sdk/wrong.json": specText("wrong"),
  "agents/ai-sdk/wrong.eval.yaml": "cases:\n  - name: a\n    input: b\n    assert: {contain: c}\n",
};

describe.each(databases())("eval suites on %s", (engine) => {
  it("run the cases of the draft and pass when all checks hold", async () => {
    const app = await startApp({ engine, files });
    const commitSha = (await app.request("GET", "/agents")).json.catalog.commitSha;
    const suite = await evalToEnd(app, { agent: "greeter" });
    expect(suite).toMatchObject({
      agent: "greeter",
      version: "draft",
      commitSha,
      source: "api",
      status: "passed",
      totalCount: 2,
      passedCount: 2,
      cached: false,
      runAs: "admin",
      statusPost: { state: "none" },
    });
    expect(suite).not.toHaveProperty("cachedFrom");
    expect(suite.cases).toEqual([
      {
        name: "greets",
        status: "passed",
        passed: true,
        input: "Hello, Ada",
        output: "Hello, Ada",
        assertions: [
          { kind: "contains", passed: true, detail: expect.any(String) },
          { kind: "max_chars", passed: true, detail: expect.any(String) },
        ],
        judgePassed: null,
        runId: expect.any(String),
        durationMs: expect.any(Number),
        costUsd: 0,
      },
      expect.objectContaining({ name: "says no more", passed: true }),
    ]);
    const { run } = (await app.request("GET", `/runs/${suite.cases[0].runId}`)).json;
    expect(run).toMatchObject({
      trigger: "eval",
      source: "Eval",
      runAs: "admin",
      evalId: suite.id,
      runEnvironment: "Development",
      message: "Hello, Ada",
    });
    expect((await app.request("GET", "/runs")).json.runs).toEqual([]);
    expect((await app.request("GET", "/runs?trigger=eval")).json.runs).toHaveLength(2);
    expect(await app.db.read("jobs")).toEqual([]);
  });

  it("fail with the case and the check named; an empty output and a failed run fail a case", async () => {
    const app = await startApp({ engine, files });
    const suite = await evalToEnd(app, { agent: "mixed", source: "ci" });
    expect(suite).toMatchObject({ status: "failed", totalCount: 3, passedCount: 1, source: "ci" });
    expect(suite.cases.map((each: { passed: boolean }) => each.passed)).toEqual([true, false, false]);
    expect(suite.cases[1].assertions).toEqual([
      { kind: "not_contains", passed: false, detail: 'The output contains "t".' },
      expect.objectContaining({ kind: "equals", passed: true }),
    ]);
    expect(suite.cases[2].assertions).toEqual([
      { kind: "output", passed: false, detail: "The run gave no output." },
    ]);
    const failing = await evalToEnd(app, { agent: "unconfigured" });
    expect(failing).toMatchObject({ status: "failed", passedCount: 0 });
    expect(failing.cases[0]).toMatchObject({ status: "failed", passed: false, output: null });
    expect(failing.cases[0].assertions[0]).toMatchObject({ kind: "run", passed: false });
  });

  it("take texts in the place of the repository's, also for an agent that it does not have", async () => {
    const app = await startApp({ engine, files });
    const spec = specText("greeter", { description: "Changed." });
    const text = evalText({ input: "x", assert: { equals: "y" } });
    const both = await evalToEnd(app, { agent: "greeter", spec, eval: text, commitSha: "a".repeat(40) });
    expect(both).toMatchObject({ status: "failed", commitSha: "a".repeat(40), totalCount: 1 });
    expect(await evalToEnd(app, { agent: "greeter", spec })).toMatchObject({
      status: "passed",
      totalCount: 2,
    });
    expect(await evalToEnd(app, { agent: "greeter", eval: text })).toMatchObject({ status: "failed" });
    const yaml = "name: fresh\nframework: ai-sdk\nmodel: offline/echo\ninstructions: Echo.\n";
    const eval_ = "cases:\n  - name: a\n    input: b\n    assert: {equals: b}\n";
    expect(await evalToEnd(app, { agent: "fresh", spec: yaml, eval: eval_ })).toMatchObject({
      status: "passed",
    });
    expect((await app.request("GET", "/agents/fresh")).status).toBe(404);
  });

  it("evaluate the files of another commit", async () => {
    const app = await startApp({ engine, files });
    const before = (await app.request("GET", "/agents")).json.catalog.commitSha;
    const after = await app.commit({ "agents/ai-sdk/greeter.eval.json": null });
    expect(await evalToEnd(app, { agent: "greeter", commitSha: before })).toMatchObject({
      status: "passed",
      commitSha: before,
      totalCount: 2,
    });
    const refused = async (body: object) => {
      const { status, json } = await app.request("POST", "/evals", { body });
      return { status, error: json.error };
    };
    expect(await refused({ agent: "greeter" })).toMatchObject({ status: 422 });
    expect(await refused({ agent: "greeter", commitSha: after })).toMatchObject({
      status: 422,
      error: expect.stringContaining("eval file"),
    });
    expect(await refused({ agent: "greeter", commitSha: "b".repeat(40) })).toMatchObject({ status: 422 });
    expect(await refused({ agent: "nobody", commitSha: before })).toMatchObject({ status: 422 });
  });

  it("are listed for their agent, newest first, in pages", async () => {
    const app = await startApp({ engine, files });
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) ids.unshift(await postEval(app, { agent: "greeter" }));
    await evalToEnd(app, { agent: "mixed" });
    for (const id of ids) await endedEval(app, id);
    const list = async (query: string) => (await app.request("GET", `/evals?agent=greeter${query}`)).json;
    const idsOf = ({ evals }: { evals: { id: string }[] }) => evals.map(({ id }) => id);
    expect(idsOf(await list(""))).toEqual(ids);
    const first = await list("&limit=2");
    expect([idsOf(first), first.nextBefore]).toEqual([ids.slice(0, 2), ids[1]]);
    expect(idsOf(await list(`&limit=2&before=${ids[1]}`))).toEqual(ids.slice(2));
    expect(await list("&latest=true")).toMatchObject({
      evals: [{ id: ids[0], status: "passed", passedCount: 2, cases: [{ passed: true }, { passed: true }] }],
      nextBefore: null,
    });
    expect(idsOf(await list("&latest=false"))).toEqual(ids);
    expect((await app.request("GET", "/evals?agent=nobody")).json).toEqual({ evals: [], nextBefore: null });
  });

  it("with repeats: a case passes with as many runs as it asks for", async () => {
    const app = await startApp({ engine, files });
    const assert = { equals: "x" };
    const text = evalText(
      { input: "x", repeats: 10, assert },
      { input: "y", repeats: 3, minPass: 1, assert },
      { input: "x", repeats: 2, minPass: 1, assert },
    );
    const suite = await evalToEnd(app, { agent: "greeter", eval: text });
    expect(suite).toMatchObject({ status: "failed", totalCount: 3, passedCount: 2 });
    expect(suite.cases[0].runs).toHaveLength(10);
    expect(suite.cases[1].runs.map((run: { passed: boolean }) => run.passed)).toEqual([false, false, false]);
    expect(await app.db.read("runs").where({ trigger: "eval" })).toHaveLength(15);
  });

  it("of 20 long cases, ten times each", async () => {
    const app = await startApp({ engine, files });
    const input = "Größe 😀 ".repeat(150);
    const cases = Array.from({ length: 20 }, (_, n) => ({
      input: `${input}${n}`,
      repeats: 10,
      assert: { contains: `GRÖßE 😀 ${n}`, regex: `${n}$`, equals: `${input}${n}` },
    }));
    const suite = await evalToEnd(app, { agent: "greeter", eval: evalText(...cases) });
    expect(suite).toMatchObject({ status: "passed", totalCount: 20, passedCount: 20 });
    expect(suite.cases[7].output).toBe(`${input}7`);
    expect(await app.db.read("runs").where({ status: "succeeded", eval_id: suite.id })).toHaveLength(200);
  });

  it("of a snapshot use its spec and the draft's eval file", async () => {
    const app = await startApp({ engine, files });
    await evalToEnd(app, { agent: "greeter" });
    await app.request("POST", "/agents/greeter/promote", { body: {} });
    const draft = specText("greeter", { model: "openai/gpt-5-mini" });
    await app.commit({
      "agents/ai-sdk/greeter.json": draft,
      "agents/ai-sdk/greeter.eval.json": evalText({ name: "new", assert: { equals: "Hello" } }),
    });
    expect(await evalToEnd(app, { agent: "greeter" })).toMatchObject({ version: "draft", status: "failed" });
    for (const version of ["stable", "1", 1]) {
      const suite = await evalToEnd(app, { agent: "greeter", version });
      expect(suite).toMatchObject({ version: "1", status: "passed", cases: [{ name: "new" }] });
      const { run } = (await app.request("GET", `/runs/${suite.cases[0].runId}`)).json;
      expect(run).toMatchObject({ version: "1", runEnvironment: "Production" });
    }
  });

  it("keep the verdict on two texts for the promotion gate", async () => {
    const app = await startApp({ engine, files });
    const passing = await evalToEnd(app, { agent: "greeter" });
    await evalToEnd(app, { agent: "greeter", eval: evalText({ assert: { equals: "no" } }) });
    const row = await app.db.read("eval_suites").where({ id: passing.id }).first();
    const draft = await app.db.read("agents").where({ name: "greeter" }).first();
    expect([row.spec_sha, row.eval_sha]).toEqual([draft.spec_sha, draft.eval_sha]);
  });
});

describe("asking for a suite", () => {
  it.each([
    ["an unknown agent", { agent: "nobody" }, 404],
    ["an unknown agent with a spec alone", { agent: "nobody", spec: specText("nobody") }, 404],
    [
      "an unknown agent with evals alone",
      { agent: "nobody", eval: evalText({ assert: { equals: "" } }) },
      404,
    ],
    ["an agent without evals", { agent: "bare" }, 422],
    ["a broken eval file", { agent: "wrong" }, 422],
    ["a tool that is not connected", { agent: "unconnected" }, 422],
    ["a version that does not exist", { agent: "greeter", version: 7 }, 404],
    ["a stable version that does not exist", { agent: "greeter", version: "stable" }, 422],
    ["a snapshot with a spec", { agent: "greeter", version: "1", spec: specText("greeter") }, 400],
    ["another version", { agent: "greeter", version: "newest" }, 400],
    ["a short commit", { agent: "greeter", commitSha: "abc" }, 400],
    ["a source that callers may not claim", { agent: "greeter", source: "pull_request" }, 400],
    ["no agent", {}, 400],
    ["a spec of another name", { agent: "greeter", spec: specText("other") }, 422],
    ["an empty eval text", { agent: "greeter", eval: "" }, 422],
  ])("is refused: %s", async (_what, body, status) => {
    const app = await startApp({ files });
    const answer = await app.request("POST", "/evals", { body });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining("error")]);
    expect(await app.db.read("eval_suites")).toEqual([]);
    expect(await app.db.read("runs")).toEqual([]);
  });

  it("says of broken texts where and why", async () => {
    const app = await startApp({ files });
    const details = async (body: object) =>
      (await app.request("POST", "/evals", { body: { agent: "greeter", ...body } })).json.details;
    expect(await details({ spec: "name: greeter\nmodle: x\n" })).toMatchObject({
      file: "spec",
      problems: expect.arrayContaining([
        { path: "modle", line: 2, column: 1, message: expect.stringContaining("did you mean `model`") },
      ]),
    });
    expect(await details({ eval: "cases:\n  - name: a\n    input: b\n" })).toEqual({
      file: "eval",
      problems: [{ path: "cases[0]", line: 2, column: 5, message: expect.any(String) }],
    });
    const cases = Array.from({ length: 21 }, () => ({ assert: { equals: "" } }));
    expect(await details({ eval: evalText(...cases) })).toMatchObject({
      problems: [{ path: "cases", message: "`cases` has to have at most 20 entries." }],
    });
    const catalog = await app.request("POST", "/evals", { body: { agent: "wrong" } });
    expect(catalog.json.details).toMatchObject({ file: "eval", problems: [{ line: 4 }] });
    const unconnected = await app.request("POST", "/evals", { body: { agent: "unconnected" } });
    expect(unconnected.json.details.missing).toMatchObject([{ slugs: ["GITHUB_STAR"] }]);
  });

  it("needs an agent to list suites, and an id that exists to show one", async () => {
    const app = await startApp({ files });
    for (const query of ["", "?latest=true", "?agent=greeter&latest=yes", "?agent=greeter&limit=0"])
      expect((await app.request("GET", `/evals${query}`)).status).toBe(400);
    expect((await app.request("GET", "/evals/eval_nobody")).status).toBe(404);
  });

  it("does it once for one Idempotency-Key", async () => {
    const app = await startApp({ files });
    const setup = { headers: { "idempotency-key": "once" } };
    const ids = [
      await postEval(app, { agent: "greeter" }, setup),
      await postEval(app, { agent: "greeter" }, setup),
    ];
    expect(new Set(ids).size).toBe(1);
    expect(await app.db.read("eval_suites")).toHaveLength(1);
  });
});
