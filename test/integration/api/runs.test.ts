import { describe, expect, it, onTestFinished } from "vitest";
import { startApp, type TestApp, useApp } from "../../support/app.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";

const spec = (name: string, more = "model: offline/echo\n") =>
  `name: ${name}\nframework: ai-sdk\ninstructions: Answer briefly.\n${more}`;
const file = (name: string) => `agents/ai-sdk/${name}.yaml`;

/** A server that answers requests and knows its agents, and executes nothing. */
const withoutWorker = { ROLLCALL_ROLES: "web,scheduler" };

async function createRun(app: TestApp, body: object): Promise<string> {
  const { status, json } = await app.request("POST", "/runs", { body });
  expect(status).toBe(202);
  return json.run_id;
}

async function ended(app: TestApp, id: string) {
  return (await app.request("GET", `/runs/${id}?wait=30`)).json.run;
}

describe("a run of offline/echo", () => {
  const app = useApp();

  it.each([
    ["nothing", ""],
    ["one line", "Hello"],
    ["emoji and other scripts", "😀 👩‍👩‍👧 Ωμέγα 日本語 \u{10ffff}"],
    ["lines of all kinds", "a\nb\r\nc\rd\n\n  e\t"],
    ["control characters", "\u0001\u001b[31m\u007f\u0085\u2028\u202e"],
    ["what looks like something else", '{"role":"system"} %s {{y}} <b> \\n \' " ; drop table runs'],
    ["100 kB", "0123456789abcdeé".repeat(6_000)],
  ])("returns the message byte for byte: %s", async (_what, message) => {
    const id = await createRun(app(), { agent: "hello", message });
    const run = await ended(app(), id);
    expect([run.status, run.message, run.output]).toEqual(["succeeded", message, message]);
  });

  it("has all its fields", async () => {
    const key = await app().member("otto", "operator");
    const { json } = await app().request("POST", "/runs", {
      key,
      body: { agent: "hello", message: "one two" },
    });
    const run = await ended(app(), json.run_id);
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(run).toEqual({
      id: json.run_id,
      agent: "hello",
      framework: "ai-sdk",
      version: "draft",
      commitSha: expect.stringMatching(/^[0-9a-f]{40}$/),
      specSha: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: "succeeded",
      trigger: "api",
      source: "API",
      message: "one two",
      output: "one two",
      model: "offline/echo",
      tokensInput: expect.any(Number),
      tokensOutput: expect.any(Number),
      tokensCached: 0,
      costUsd: 0,
      runEnvironment: "Development",
      runAs: "otto",
      createdAt: instant,
      startedAt: instant,
      finishedAt: instant,
      durationMs: expect.any(Number),
    });
    expect([Number.isInteger(run.tokensInput), run.tokensInput > 0]).toEqual([true, true]);
    expect(run.createdAt <= run.startedAt && run.startedAt <= run.finishedAt).toBe(true);
  });

  it("takes no message for an empty one", async () => {
    expect(await ended(app(), await createRun(app(), { agent: "hello" }))).toMatchObject({
      message: "",
      output: "",
    });
  });

  it("is written to the audit log with its id, without its message", async () => {
    const id = await createRun(app(), { agent: "hello", message: "private words" });
    const { text, json } = await app().request("GET", "/audit-log?action=createRun&limit=1");
    expect(json.entries).toMatchObject([
      { actor: "admin", via: "api", target: id, details: { agent: "hello" } },
    ]);
    expect(text).not.toContain("private words");
  });
});

describe("which version runs", () => {
  it("is stable when there is one, else the draft; numbers and names choose", async () => {
    const app = await startApp({ files: { [file("a")]: spec("a"), [file("b")]: spec("b") } });
    const { spec_sha, commit_sha } = await app.db.read("agents").where({ name: "a" }).first();
    for (const number of [1, 2, 3]) {
      const row = {
        workspace_id: app.workspaceId,
        agent: "a",
        number,
        framework: "ai-sdk",
        spec_sha,
        commit_sha,
        created_at: number,
      };
      await app.db.writer("agent_versions").insert({ ...row, stable: number === 2 ? 1 : 0 });
    }
    const run = async (agent: string, version?: unknown) => {
      const { json } = await app.request("GET", `/runs/${await createRun(app, { agent, version })}`);
      return [json.run.version, json.run.runEnvironment];
    };
    expect(await run("a")).toEqual(["2", "Production"]);
    expect(await run("a", "stable")).toEqual(["2", "Production"]);
    expect(await run("a", "draft")).toEqual(["draft", "Development"]);
    expect(await run("a", "3")).toEqual(["3", "Production"]);
    expect(await run("a", 1)).toEqual(["1", "Production"]);
    expect(await run("b")).toEqual(["draft", "Development"]);
    expect(await run("b", "draft")).toEqual(["draft", "Development"]);
    expect((await app.request("GET", "/agents/a")).json.agent.versions).toEqual({ stable: 2, latest: 3 });

    const refused = async (agent: string, version: unknown) =>
      (await app.request("POST", "/runs", { body: { agent, version } })).status;
    expect(await refused("a", "4")).toBe(404);
    expect(await refused("b", "1")).toBe(404);
    expect(await refused("b", "stable")).toBe(422);
    for (const version of ["latest", "0", "01", "-1", "1.5", 0, 1.5, "9999999999", null])
      expect(await refused("a", version)).toBe(400);
  });

  it("is fixed when the run is created: a later commit does not change it", async () => {
    const app = await startApp({ env: withoutWorker, files: { [file("a")]: spec("a") } });
    const first = await createRun(app, { agent: "a" });
    const head = await app.commit({ [file("a")]: spec("a", "model: offline/echo\nretries: 0\n") });
    const second = await createRun(app, { agent: "a" });
    const [one, two] = await Promise.all(
      [first, second].map(async (id) => (await app.request("GET", `/runs/${id}`)).json.run),
    );
    expect(one.specSha).not.toBe(two.specSha);
    expect(one.commitSha).not.toBe(head);
    expect(two.commitSha).toBe(head);
  });
});

describe("a run that cannot be", () => {
  const app = useApp({
    files: {
      [file("needy")]: spec(
        "needy",
        "model: offline/echo\nconnections: [GMAIL_SEND, SLACK_POST, ROLLCALL_CURRENT_TIME]\n",
      ),
      [file("broken")]: "name: broken\n",
      [file("keyless")]: spec("keyless", "model: openai/gpt-5-mini\n"),
    },
  });

  it("is 404 for an unknown agent", async () => {
    expect((await app().request("POST", "/runs", { body: { agent: "nobody" } })).status).toBe(404);
  });

  it("is 422 for a broken spec, with its problems", async () => {
    const { status, json } = await app().request("POST", "/runs", { body: { agent: "broken" } });
    expect([status, json.details.problems.length > 0]).toEqual([422, true]);
  });

  it("is 422 for tools that are not connected, and says which", async () => {
    const { status, json } = await app().request("POST", "/runs", { body: { agent: "needy" } });
    expect(status).toBe(422);
    expect(json.error).toContain("Connections");
    expect(json.details).toEqual({
      missing: [{ toolkit: null, slugs: ["GMAIL_SEND", "SLACK_POST"], connectUrl: null }],
    });
  });

  it("is accepted, and fails with what to do about it, when its provider is not configured", async () => {
    const run = await ended(app(), await createRun(app(), { agent: "keyless" }));
    expect(run).toMatchObject({ status: "failed", output: null, failureCode: "model_not_configured" });
    expect(run.errorMessage).not.toBe("");
    expect(run.failureRecommendation).not.toBe("");
  });

  it("leaves no run behind when it was refused", async () => {
    const { json } = await app().request("GET", "/runs");
    expect(json.runs.map(({ agent }: { agent: string }) => agent)).toEqual(["keyless"]);
  });
});

describe("cancelling", () => {
  it("ends a run that is queued at once, and only once", async () => {
    const app = await startApp({ env: withoutWorker });
    const id = await createRun(app, { agent: "hello" });
    const cancel = () => app.request("POST", `/runs/${id}/cancel`);
    const first = await cancel();
    expect([first.status, first.json.run.status, first.json.run.failureCode]).toEqual([
      200,
      "cancelled",
      "cancelled",
    ]);
    const again = await cancel();
    expect([again.status, again.json.run]).toEqual([200, first.json.run]);
    const viewer = await app.member("vera", "viewer");
    expect((await app.request("POST", `/runs/${id}/cancel`, { key: viewer })).status).toBe(403);
  });

  it("aborts the model's answer of a run that is under way", async () => {
    const simulator = await startModelSimulator();
    onTestFinished(() => simulator.close());
    simulator.script({ text: "too late", until: new Promise(() => {}) });
    const app = await startApp({
      files: { [file("slow")]: spec("slow", "model: openai-compatible/any\n") },
      env: { OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1` },
    });
    const id = await createRun(app, { agent: "slow" });
    const asked = await simulator.request(0);
    expect((await app.request("GET", `/runs/${id}`)).json.run.status).toBe("running");
    expect((await app.request("POST", `/runs/${id}/cancel`)).status).toBe(200);
    await asked.aborted;
    expect(await ended(app, id)).toMatchObject({
      status: "cancelled",
      failureCode: "cancelled",
      output: null,
    });
  });

  it("is 409 for a run that has ended, 404 for one that is not there", async () => {
    const app = await startApp();
    const id = await createRun(app, { agent: "hello" });
    await ended(app, id);
    expect((await app.request("POST", `/runs/${id}/cancel`)).status).toBe(409);
    expect((await app.request("POST", "/runs/run_nothing/cancel")).status).toBe(404);
  });
});

describe("waiting for a run", () => {
  it("answers when it ends, not before and not after the time given", async () => {
    const app = await startApp({ env: withoutWorker });
    const id = await createRun(app, { agent: "hello" });
    expect((await app.request("GET", `/runs/${id}?wait=0`)).json.run.status).toBe("queued");
    expect((await app.request("GET", `/runs/${id}?wait=1`)).json.run.status).toBe("queued");
    const waiting = app.request("GET", `/runs/${id}?wait=30`);
    await app.request("POST", `/runs/${id}/cancel`);
    expect((await waiting).json.run.status).toBe("cancelled");
  });

  it("ends when the process stops", async () => {
    const app = await startApp({ env: withoutWorker });
    const id = await createRun(app, { agent: "hello" });
    const waiting = app.request("GET", `/runs/${id}?wait=30`);
    await app.request("GET", "/agents");
    app.app.beginStop();
    expect((await waiting).json.run.status).toBe("queued");
  });
});
