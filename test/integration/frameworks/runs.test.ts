import { describe, expect, it, onTestFinished } from "vitest";
import { costUsd, resolveModel } from "../../../src/models/index.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import { endedRun, eventsOf, postRun, runToEnd, specText } from "../../support/run-requests.ts";

const front = "agents/openai-agents/front.json";
const back = "agents/openai-agents/back.json";

const member = (name: string, more: Record<string, unknown> = {}) =>
  specText(name, { framework: "openai-agents", model: "openai/gpt-4o-mini", retries: 0, ...more });

const toBack = { toolCalls: [{ name: "transfer_to_back", args: {} }], usage: { input: 1_000, output: 100 } };

async function start(files: Record<string, string>, engine?: "sqlite" | "mysql") {
  const simulator = await startModelSimulator();
  onTestFinished(() => simulator.close());
  const env = {
    OPENAI_API_KEY: simulator.keys.openai.apiKey ?? "",
    OPENAI_BASE_URL: `${simulator.origin}/v1`,
    OPENAI_COMPATIBLE_API_KEY: simulator.keys["openai-compatible"].apiKey ?? "",
    OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`,
  };
  return { simulator, app: await startApp({ files, env, ...(engine ? { engine } : {}) }) };
}

const kinds = async (app: TestApp, id: string) =>
  (await eventsOf(app, id)).map(({ event, data }) =>
    [event, data.agent ?? data.node, data.to].join(" ").trim(),
  );

describe.each(databases())("runs of more than one agent on %s", (engine) => {
  it("are traced and paid for by agent, each with its own model and tools", async () => {
    const strong = { model: "openai/gpt-4o", connections: ["ROLLCALL_CURRENT_TIME"] };
    const files = { [front]: member("front", { handoffs: ["back"] }), [back]: member("back", strong) };
    const { app, simulator } = await start(files, engine);
    simulator.script(
      toBack,
      { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }], usage: { input: 2_000, output: 100 } },
      { text: "It is late.", usage: { input: 3_000, output: 100 } },
    );
    const run = await runToEnd(app, "front");
    expect(run).toMatchObject({ status: "succeeded", output: "It is late.", model: "openai/gpt-4o-mini" });
    expect(run).toMatchObject({ tokensInput: 6_000, tokensOutput: 300 });
    const price = (ref: string, input: number) => {
      const resolved = resolveModel(ref, simulator.keys);
      return resolved.ok ? (costUsd(resolved.model, { input, output: 100, cached: 0 }) ?? 0) : 0;
    };
    const cost =
      price("openai/gpt-4o-mini", 1_000) + price("openai/gpt-4o", 2_000) + price("openai/gpt-4o", 3_000);
    expect(run.costUsd).toBeCloseTo(cost, 9);
    expect(await kinds(app, run.id)).toEqual([
      "run.started",
      "step.started front",
      "handoff front back",
      "step.finished front",
      "step.started back",
      "tool.called back",
      "tool.finished back",
      "step.finished back",
      "step.started back",
      "step.finished back",
      "run.finished",
    ]);
  });

  it("keep drafts to drafts and stable versions to stable ones", async () => {
    const say = (instructions: string) => member("back", { instructions });
    const { app, simulator } = await start(
      { [front]: member("front", { handoffs: ["back"] }), [back]: say("You are the first.") },
      engine,
    );
    const heard = async (version: string) => {
      const before = simulator.requests.length;
      simulator.script(toBack, { text: "Done." });
      const { json } = await app.request("POST", "/runs", {
        body: { agent: "front", message: "Hi", version },
      });
      expect(await endedRun(app, json.run_id)).toMatchObject({ status: "succeeded" });
      return JSON.stringify(simulator.requests[before + 1]?.body);
    };
    const promote = (name: string) => app.request("POST", `/agents/${name}/promote`, { body: {} });
    await promote("front");
    // Of an agent without a stable version there is only the draft.
    expect(await heard("stable")).toContain("You are the first.");
    await promote("back");
    await app.commit({ [back]: say("You are the second.") });
    expect(await heard("draft")).toContain("You are the second.");
    expect(await heard("stable")).toContain("You are the first.");
    await app.commit({ [back]: "name: back" });
    expect(await heard("stable")).toContain("You are the first.");
    const { json } = await app.request("POST", "/runs", { body: { agent: "front", version: "draft" } });
    expect(await endedRun(app, json.run_id)).toMatchObject({ status: "failed", failureCode: "invalid_spec" });
  });
});

describe("runs of agents that need others", () => {
  it.each([
    ["an agent that is not there", {}, "invalid_spec", /back/],
    [
      "one of another framework",
      { "agents/ai-sdk/back.json": specText("back") },
      "invalid_spec",
      /openai-agents/,
    ],
    [
      "one that lacks a connection",
      { [back]: member("back", { connections: ["NOT_THERE"] }) },
      "connection_missing",
      /NOT_THERE/,
    ],
    [
      "one whose model has no key",
      { [back]: member("back", { model: "google/gemini-2.5-flash" }) },
      "model_not_configured",
      /GOOGLE/,
    ],
  ])("end before the first model call by %s", async (_what, others, code, details) => {
    const { app, simulator } = await start({ [front]: member("front", { handoffs: ["back"] }), ...others });
    const run = await runToEnd(app, "front");
    expect(run).toMatchObject({
      status: "failed",
      failureCode: code,
      errorDetails: expect.stringMatching(details),
    });
    expect(simulator.requests).toEqual([]);
  });
});

describe("runs of a graph", () => {
  const spec = (graph: unknown) =>
    specText("report", { framework: "langgraph", model: "openai/gpt-4o-mini", retries: 0, graph });
  const file = "agents/langgraph/report.json";

  it("are traced by node and use the workspace's keys for each node's model", async () => {
    const graph = {
      start: "find",
      nodes: [{ name: "find" }, { name: "write", model: "openai-compatible/other" }],
      edges: [{ from: "find", to: "write" }],
    };
    const { app, simulator } = await start({ [file]: spec(graph) });
    simulator.script({ text: "Facts." }, { text: "A report." });
    const run = await runToEnd(app, "report");
    expect(run).toMatchObject({ status: "succeeded", output: "A report." });
    expect(await kinds(app, run.id)).toEqual([
      "run.started",
      "step.started find",
      "step.finished find",
      "step.started write",
      "step.finished write",
      "run.finished",
    ]);
    const { apiKey } = simulator.keys["openai-compatible"];
    expect(simulator.requests.map(({ protocol }) => protocol)).toEqual(["responses", "chat-completions"]);
    expect(simulator.requests[1]?.headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it("can be cancelled in every framework", async () => {
    const files = { [file]: spec(undefined), [front]: member("front") };
    const { app, simulator } = await start(files);
    for (const [index, agent] of ["report", "front"].entries()) {
      simulator.script({ text: "too late", until: new Promise(() => {}) });
      const id = await postRun(app, agent);
      const request = await simulator.request(index);
      await app.request("POST", `/runs/${id}/cancel`);
      await request.aborted;
      expect(await endedRun(app, id)).toMatchObject({ status: "cancelled", failureCode: "cancelled" });
    }
  });
});
