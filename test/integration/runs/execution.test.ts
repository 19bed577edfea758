import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type TestApp, useApp } from "../../support/app.ts";
import { type ModelSimulator, startModelSimulator } from "../../support/model-simulator.ts";
import {
  agentFiles,
  endedRun,
  eventsOf,
  postRun,
  reachesStatus,
  runToEnd,
} from "../../support/run-requests.ts";

const model = "openai-compatible/test-model";
const bothTools = ["ROLLCALL_CURRENT_TIME", "ROLLCALL_READ_FILE"];

const files = {
  ...agentFiles({
    compatible: { model },
    priced: { model: "openai/gpt-4o-mini" },
    unpriced: { model: "openai/a-model-that-nobody-sells" },
    echo: {},
    tools: { model, connections: bothTools },
    slow: { model, parameters: { timeoutSeconds: 1 } },
    patient: { model, retries: 1 },
    "per-run": { model: "openai/gpt-4o-mini", connections: bothTools, budget: { usdPerRun: 0.001 } },
    "per-day": { model: "openai/gpt-4o-mini", budget: { usdPerDay: 0.0003 } },
  }),
  "docs/guide.md": "How to be tested: patiently.\n",
  "docs/link.md": { symlink: "../../../etc/passwd" },
  "docs/large.md": "x".repeat(256 * 1024 + 1),
};

let simulator: ModelSimulator;
const env: Record<string, string> = {};
beforeAll(async () => {
  simulator = await startModelSimulator();
  Object.assign(env, {
    OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`,
    OPENAI_COMPATIBLE_API_KEY: "key-of-the-environment-012345",
    OPENAI_BASE_URL: `${simulator.origin}/v1`,
    OPENAI_API_KEY: "key-of-the-environment-543210",
  });
});
afterAll(() => simulator.close());

const app: () => TestApp = useApp({ files, env });
/** Index of the next request that the simulator gets. */
let next = 0;
beforeEach(() => {
  expect(simulator.left()).toBe(0);
  next = simulator.requests.length;
});

describe("tokens and cost", () => {
  it("adds up the tokens of all steps, cached ones among them", async () => {
    simulator.script(
      {
        toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }],
        usage: { input: 100, output: 20, cached: 40 },
      },
      { text: "It is late.", usage: { input: 150, output: 7, cached: 100 } },
    );
    expect(await runToEnd(app(), "tools")).toMatchObject({
      status: "succeeded",
      output: "It is late.",
      model,
      tokensInput: 250,
      tokensOutput: 27,
      tokensCached: 140,
      costUsd: null,
    });
  });

  it("knows the price of a listed model, with cached tokens cheaper", async () => {
    simulator.script(
      { text: "a", usage: { input: 1_000_000, output: 100_000 } },
      { text: "b", usage: { input: 1_000_000, output: 100_000, cached: 1_000_000 } },
    );
    const { costUsd: plain } = await runToEnd(app(), "priced");
    const { costUsd: cached } = await runToEnd(app(), "priced");
    expect(plain).toBeCloseTo(0.21, 6);
    expect(cached).toBeCloseTo(0.135, 6);
  });

  it.each(["compatible", "unpriced"])("says null for %s, whose price nobody knows", async (agent) => {
    simulator.script({ text: "a" });
    expect(await runToEnd(app(), agent)).toMatchObject({
      status: "succeeded",
      costUsd: null,
      tokensInput: 10,
    });
  });

  it("the echo costs nothing", async () => {
    expect(await runToEnd(app(), "echo", "Ünï\u{1f600}")).toMatchObject({
      output: "Ünï\u{1f600}",
      costUsd: 0,
    });
  });
});

describe("the trace", () => {
  it("tells steps, tool calls and the end in their order", async () => {
    simulator.script(
      {
        text: "Let me look.",
        toolCalls: [
          { name: "ROLLCALL_CURRENT_TIME", args: { timezone: "Europe/Berlin" } },
          { name: "ROLLCALL_READ_FILE", args: { path: "docs/guide.md" } },
        ],
      },
      { text: "Done." },
    );
    const run = await runToEnd(app(), "tools");
    const events = await eventsOf(app(), run.id);
    const called = ["tool.called", "tool.called", "tool.finished", "tool.finished"];
    expect(events.map((each) => each.event)).toEqual([
      ...["run.started", "step.started", ...called, "step.finished"],
      ...["step.started", "step.finished", "run.finished"],
    ]);
    expect(events.map((each) => each.id)).toEqual(events.map((_, index) => `1-${index + 1}`));
    const results = events.filter((each) => each.event === "tool.finished").map((each) => each.data);
    expect(results).toContainEqual(
      expect.objectContaining({
        step: 1,
        tool: "ROLLCALL_CURRENT_TIME",
        ok: true,
        result: expect.objectContaining({ timezone: "Europe/Berlin", utc: expect.stringMatching(/^20.*Z$/) }),
      }),
    );
    expect(results).toContainEqual(
      expect.objectContaining({
        tool: "ROLLCALL_READ_FILE",
        ok: true,
        result: { path: "docs/guide.md", text: "How to be tested: patiently.\n" },
      }),
    );
    expect(events.at(-1)?.data).toMatchObject({ status: "succeeded" });
    const told = JSON.stringify(simulator.requests[next + 1]?.body.messages);
    expect(told).toContain("How to be tested: patiently.");
  });

  it("is taken up where a reader left off", async () => {
    simulator.script({ text: "a" });
    const run = await runToEnd(app(), "compatible");
    const all = await eventsOf(app(), run.id);
    const rest = await eventsOf(app(), run.id, { headers: { "last-event-id": all[1]?.id ?? "" } });
    expect(rest).toEqual(all.slice(2));
  });
});

describe("ROLLCALL_READ_FILE", () => {
  async function read(path: unknown) {
    simulator.script({ toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path } }] }, { text: "I see." });
    const run = await runToEnd(app(), "tools");
    expect(run.status).toBe("succeeded");
    const events = await eventsOf(app(), run.id);
    return events.find((each) => each.event === "tool.finished")?.data;
  }

  it.each([
    ["of a parent", "../secret"],
    ["of a parent further down", "docs/../../secret"],
    ["that is absolute", "/etc/passwd"],
    ["with a backslash", "docs\\guide.md"],
    ["with a NUL", "docs/guide.md\u0000"],
    ["of Git's own", ".git/config"],
    ["that is a link", "docs/link.md"],
    ["that is a folder", "docs"],
    ["that is too large", "docs/large.md"],
    ["that is not there", "docs/nothing.md"],
    ["that is no text", 12],
  ])("a path %s is refused, and the model is told", async (_, path) => {
    const { ok, result } = await read(path);
    expect(ok).toBe(false);
    expect(JSON.stringify(result)).not.toContain("root:");
  });

  it("reads the repository as it was when the run was asked for", async () => {
    expect((await read("docs/guide.md")).result.text).toContain("patiently");
    // The agent's own file stays as it is: what the agent reads has moved on all the same.
    const commit = await app().commit({ "docs/guide.md": "How to be tested: at once.\n" });
    expect((await read("docs/guide.md")).result.text).toContain("at once");
    simulator.script({ text: "a" });
    expect(await runToEnd(app(), "tools")).toMatchObject({ commitSha: commit });
  });
});

describe("ending before the model has answered", () => {
  it("after timeoutSeconds: the request is cut off", async () => {
    const never = Promise.withResolvers<void>();
    simulator.script({ text: "too late", until: never.promise });
    const run = await runToEnd(app(), "slow");
    expect(run).toMatchObject({ status: "failed", failureCode: "timeout", output: null });
    expect(run.durationMs).toBeGreaterThanOrEqual(990);
    await (await simulator.request(next)).aborted;
    never.resolve();
  });

  it("when it is cancelled: the request is cut off and the second cancel changes nothing", async () => {
    const never = Promise.withResolvers<void>();
    simulator.script({ text: "too late", until: never.promise });
    const id = await postRun(app(), "compatible");
    const { aborted } = await simulator.request(next);
    expect(await app().request("POST", `/runs/${id}/cancel`)).toMatchObject({ status: 200 });
    const run = await endedRun(app(), id);
    expect(run).toMatchObject({ status: "cancelled", failureCode: "cancelled" });
    await aborted;
    never.resolve();
    const again = await app().request("POST", `/runs/${id}/cancel`);
    expect(again).toMatchObject({
      status: 200,
      json: { run: { status: "cancelled", finishedAt: run.finishedAt } },
    });
    const finished = (await eventsOf(app(), id)).filter((each) => each.event === "run.finished");
    expect(finished.map((each) => each.data.status)).toEqual(["cancelled"]);
  });

  it("when another process was asked to: the model's next tool call is not made", async () => {
    const asked = Promise.withResolvers<void>();
    simulator.script({ toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }], until: asked.promise });
    const id = await postRun(app(), "tools");
    await simulator.request(next);
    await app().db.transaction((tx) => tx("runs").where({ id }).update({ cancel_requested_at: Date.now() }));
    asked.resolve();
    expect(await endedRun(app(), id)).toMatchObject({ status: "cancelled", failureCode: "cancelled" });
    expect(app().logs().join("")).not.toContain("failed inside Rollcall");
  });

  it("a run that has succeeded cannot be cancelled", async () => {
    const { id } = await runToEnd(app(), "echo");
    expect(await app().request("POST", `/runs/${id}/cancel`)).toMatchObject({ status: 409 });
    expect(await endedRun(app(), id)).toMatchObject({ status: "succeeded" });
  });
});

describe("budgets", () => {
  it("a run that costs more than usdPerRun ends before it calls a tool", async () => {
    simulator.script({
      toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }],
      usage: { input: 10_000, output: 0 },
    });
    const run = await runToEnd(app(), "per-run");
    expect(run).toMatchObject({
      status: "failed",
      failureCode: "budget_exceeded",
      costUsd: 0.0015,
      tokensInput: 10_000,
    });
    expect((await eventsOf(app(), run.id)).map((each) => each.event)).not.toContain("tool.called");
  });

  it("the agent's runs of a day share usdPerDay: the next one asks the model nothing", async () => {
    simulator.script(
      { text: "a", usage: { input: 1_000, output: 0 } },
      { text: "b", usage: { input: 1_000, output: 0 } },
    );
    expect(await runToEnd(app(), "per-day")).toMatchObject({ status: "succeeded", costUsd: 0.00015 });
    // The second answer uses the budget up to the last cent; it is paid for, so it counts.
    expect(await runToEnd(app(), "per-day")).toMatchObject({ status: "succeeded", costUsd: 0.00015 });
    const asked = simulator.requests.length;
    const third = await app().request("POST", "/runs", { body: { agent: "per-day" } });
    expect([third.status, third.json.details.budget]).toEqual([
      422,
      expect.objectContaining({ cap: "usdPerAgentDay", of: "per-day", amountUsd: 0.0003, usedUsd: 0.0003 }),
    ]);
    expect(simulator.requests.length).toBe(asked);
  });
});

describe("retries", () => {
  it("a rate limit and an outage are tried again, and the trace says so", async () => {
    simulator.script({ status: 429 }, { status: 500 }, { text: "a" }, { text: "a" });
    const runs = await Promise.all([runToEnd(app(), "patient"), runToEnd(app(), "patient")]);
    const retried = await Promise.all(
      runs.map(async (run) => {
        expect(run).toMatchObject({ status: "succeeded", output: "a", tokensInput: 10 });
        const events = await eventsOf(app(), run.id);
        return events.filter((each) => each.event === "model.retried").map((each) => each.data.code);
      }),
    );
    expect(retried.sort()).toEqual([["model_rate_limited"], ["model_unavailable"]]);
  });
});

describe("the workspace's own keys", () => {
  it("count for the next run, over those of the environment, until they are removed", async () => {
    const authorization = async () => {
      simulator.script({ text: "a" });
      expect(await runToEnd(app(), "compatible")).toMatchObject({ status: "succeeded" });
      return simulator.requests.at(-1)?.headers.authorization;
    };
    const set = (apiKey: string | null) =>
      app().request("PATCH", "/settings", { body: { modelKeys: { "openai-compatible": { apiKey } } } });
    expect(await authorization()).toBe("Bearer key-of-the-environment-012345");
    expect(await set("key-of-the-workspace-67890")).toMatchObject({ status: 200 });
    expect(await authorization()).toBe("Bearer key-of-the-workspace-67890");
    await set(null);
    expect(await authorization()).toBe("Bearer key-of-the-environment-012345");
  });
});

it("answers as long as it takes: a run that is waited for is shown as it is", async () => {
  const answer = Promise.withResolvers<void>();
  simulator.script({ text: "a", until: answer.promise });
  const id = await postRun(app(), "compatible");
  await reachesStatus(app(), id, "running");
  expect((await app().request("GET", `/runs/${id}?wait=0`)).json.run).toMatchObject({
    status: "running",
    finishedAt: null,
  });
  const ended = endedRun(app(), id);
  answer.resolve();
  expect(await ended).toMatchObject({ status: "succeeded" });
});
