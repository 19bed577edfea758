import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunFailure, type RunReach } from "../../../src/frameworks/index.ts";
import { langgraph } from "../../../src/frameworks/langgraph/index.ts";
import { resolveModel } from "../../../src/models/index.ts";
import { failureOf, type StartedRun, startRun, type TestRun, testTool } from "../../support/framework-run.ts";
import { type ModelSimulator, startModelSimulator } from "../../support/model-simulator.ts";

const agent = (name: string, more: Record<string, unknown> = {}) => ({
  name,
  instructions: `Be ${name}.`,
  ...more,
});
const route = (name: string) => ({ name, kind: "route", instructions: `Choose in ${name}.` });

const nodesOf = ({ events }: StartedRun) =>
  events.filter(({ type }) => type === "step.started").map(({ node }) => node);

describe("a graph of steps", () => {
  let simulator: ModelSimulator;
  const start = (graph: Record<string, unknown>, test: TestRun = {}) =>
    startRun(langgraph, { keys: simulator.keys, ...test, spec: { graph, ...test.spec } });
  /** What each model was asked, by the node whose instructions it was given. */
  const asked = (name: string) =>
    simulator.requests
      .filter(({ body }) => new RegExp(`(Be|Choose in) ${name}\\.`).test(JSON.stringify(body.messages[0])))
      .map(({ body }) => JSON.stringify(body.messages.slice(1)));

  beforeEach(async () => {
    simulator = await startModelSimulator();
  });
  afterEach(() => simulator.close());

  it("goes from node to node; each knows the message and what came before", async () => {
    simulator.script({ text: "An outline." }, { text: "A draft." }, { text: "The end." });
    const run = start({
      start: "outline",
      nodes: [agent("outline"), agent("draft"), agent("polish")],
      edges: [
        { from: "outline", to: "draft" },
        { from: "draft", to: "polish" },
      ],
    });
    expect(await run.result).toEqual({ output: "The end." });
    expect(run.events.map(({ type, step, node }) => `${type} ${step} ${node}`)).toEqual([
      "step.started 1 outline",
      "step.finished 1 outline",
      "step.started 2 draft",
      "step.finished 2 draft",
      "step.started 3 polish",
      "step.finished 3 polish",
    ]);
    expect(asked("outline")[0]).not.toContain("outline");
    expect(asked("polish")[0]).toMatch(/Hello.*## outline.*An outline.*## draft.*A draft/);
    for (const { body } of simulator.requests) expect(body.messages).toHaveLength(2);
  });

  it("takes the way that a route's model chooses", async () => {
    const graph = {
      start: "triage",
      nodes: [route("triage"), agent("billing"), agent("other")],
      edges: [
        { from: "triage", to: "billing", when: "it is about an invoice" },
        { from: "triage", to: "other" },
      ],
    };
    simulator.script({ text: "**billing**" }, { text: "Paid." });
    const run = start(graph);
    expect(await run.result).toEqual({ output: "Paid." });
    expect(nodesOf(run)).toEqual(["triage", "billing"]);
    expect(run.events[1]).toEqual({ type: "route", step: 1, node: "triage", to: "billing" });
    const [first] = simulator.requests;
    expect(JSON.stringify(first?.body.messages[0])).toContain("- billing: it is about an invoice");
  });

  it("asks a route's model again when it chose nothing, within the steps of the run", async () => {
    const graph = {
      start: "triage",
      nodes: [route("triage"), agent("a"), agent("b")],
      edges: [
        { from: "triage", to: "a" },
        { from: "triage", to: "b" },
      ],
    };
    simulator.script({ text: "a or b?" }, { text: "b" }, { text: "It was b." });
    expect(await start(graph).result).toEqual({ output: "It was b." });
    simulator.script({ text: "no" }, { text: "neither" }, { text: "b" });
    const run = start(graph, { spec: { parameters: { maxSteps: 2 } } });
    expect(await failureOf(run)).toMatchObject({ code: "max_steps" });
    expect(simulator.left()).toBe(1);
  });

  it("runs branches at the same time and joins them once", async () => {
    const both = Promise.withResolvers<void>();
    simulator.script(
      { text: "Go." },
      { text: "Left or right.", until: both.promise },
      { text: "Left or right.", until: both.promise },
    );
    simulator.script({ text: "Longer." }, { text: "Joined." });
    const run = start({
      start: "fork",
      nodes: [agent("fork"), agent("left"), agent("right"), agent("farther"), agent("join")],
      edges: [
        { from: "fork", to: "left" },
        { from: "fork", to: "right" },
        { from: "right", to: "farther" },
        { from: ["left", "farther"], to: "join" },
      ],
    });
    await simulator.request(2);
    both.resolve();
    expect(await run.result).toEqual({ output: "Joined." });
    expect(nodesOf(run).slice(0, 3).toSorted()).toEqual(["fork", "left", "right"]);
    expect(nodesOf(run).slice(3)).toEqual(["farther", "join"]);
    expect(asked("join")[0]).toMatch(/## fork.*## left.*## right.*## farther.*Longer/);
    const numbers = run.events.filter(({ type }) => type === "step.finished").map(({ step }) => step);
    expect(numbers.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  it("goes round until a route leaves, with the latest answer of each node", async () => {
    simulator.script(
      { text: "First try." },
      { text: "write" },
      { text: "Second try." },
      { text: "done" },
      { text: "Fine." },
    );
    const run = start({
      start: "write",
      nodes: [agent("write"), route("review"), agent("done")],
      edges: [
        { from: "write", to: "review" },
        { from: "review", to: "write", when: "it can be better" },
        { from: "review", to: "done" },
      ],
    });
    expect(await run.result).toEqual({ output: "Fine." });
    expect(nodesOf(run)).toEqual(["write", "review", "write", "review", "done"]);
    expect(asked("done")[0]).toContain("Second try.");
    expect(asked("done")[0]).not.toContain("First try.");
  });

  it("never goes round beyond the run's steps", async () => {
    simulator.script({ text: "1" }, { text: "write" }, { text: "2" }, { text: "write" }, { text: "3" });
    const run = start(
      {
        start: "write",
        nodes: [agent("write"), route("review"), agent("done")],
        edges: [
          { from: "write", to: "review" },
          { from: "review", to: "write" },
          { from: "review", to: "done" },
        ],
      },
      { spec: { parameters: { maxSteps: 4 } } },
    );
    expect(await failureOf(run)).toMatchObject({ code: "max_steps" });
    expect(simulator.left()).toBe(1);
  });

  it("answers with the node that the spec names", async () => {
    simulator.script({ text: "The answer." }, { text: "A remark." });
    const nodes = [agent("answer"), agent("remark")];
    const run = start({
      start: "answer",
      nodes,
      edges: [{ from: "answer", to: "remark" }],
      output: "answer",
    });
    expect(await run.result).toEqual({ output: "The answer." });
  });

  it("gives nodes their own tools and models", async () => {
    const weather = testTool(async () => ({ ok: true, content: "clear" }));
    const clock = testTool(async () => ({ ok: true, content: "noon" }), "CLOCK_NOW");
    simulator.script(
      { toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] },
      { text: "Sunny." },
      { text: "Done." },
    );
    const models: string[] = [];
    const run = start(
      {
        start: "look",
        nodes: [
          agent("look", { connections: ["WEATHER_TODAY"] }),
          agent("tell", { model: "anthropic/claude-sonnet-4-5", connections: [] }),
        ],
        edges: [{ from: "look", to: "tell" }],
      },
      {
        tools: [weather, clock],
        spec: { connections: ["WEATHER_TODAY", "CLOCK_NOW"] },
        reach: reach(),
        spend: async (_usage, model) => void models.push(model.ref),
      },
    );
    expect(await run.result).toEqual({ output: "Done." });
    expect(simulator.requests[0]?.body.tools).toHaveLength(1);
    expect(simulator.requests[2]).toMatchObject({ protocol: "messages" });
    expect(simulator.requests[2]?.body.tools).toBeUndefined();
    expect(models).toEqual([
      "openai-compatible/test-model",
      "openai-compatible/test-model",
      "anthropic/claude-sonnet-4-5",
    ]);
    expect(run.events.find(({ type }) => type === "tool.called")).toMatchObject({ node: "look", step: 1 });
  });

  function reach(): RunReach {
    return {
      agent: () => Promise.reject(new Error("not asked for")),
      async model(ref) {
        const resolved = resolveModel(ref, { ...simulator.keys, google: {} });
        if (!resolved.ok) throw new RunFailure("model_not_configured", resolved.reason);
        return resolved.model;
      },
    };
  }

  it("does not begin when a node's model is not configured", async () => {
    const nodes = [agent("one"), agent("two", { model: "google/gemini-2.5-flash" })];
    const run = start({ start: "one", nodes, edges: [{ from: "one", to: "two" }] }, { reach: reach() });
    expect(await failureOf(run)).toMatchObject({ code: "model_not_configured" });
    expect(simulator.requests).toEqual([]);
  });

  it("stops the other branches when one fails, and says nothing after the end", async () => {
    simulator.script(
      { text: "Go." },
      { status: 401, message: "no" },
      { text: "too late", until: new Promise(() => {}) },
    );
    const run = start({
      start: "fork",
      nodes: [agent("fork"), agent("left"), agent("right")],
      edges: [
        { from: "fork", to: "left" },
        { from: "fork", to: "right" },
      ],
    });
    expect(await failureOf(run)).toMatchObject({ code: "model_auth" });
    const told = run.events.length;
    await (await simulator.request(2)).aborted;
    expect(run.events).toHaveLength(told);
  });

  it("is stopped in all its branches", async () => {
    const stop = new AbortController();
    const reason = new Error("cancelled by its owner");
    const never = new Promise(() => {});
    simulator.script({ text: "Go." }, { text: "l", until: never }, { text: "r", until: never });
    const nodes = [agent("fork"), agent("left"), agent("right")];
    const edges = ["left", "right"].map((to) => ({ from: "fork", to }));
    const run = start({ start: "fork", nodes, edges }, { signal: stop.signal });
    const rejected = expect(run.result).rejects.toBe(reason);
    const requests = await Promise.all([simulator.request(1), simulator.request(2)]);
    stop.abort(reason);
    await rejected;
    await Promise.all(requests.map(({ aborted }) => aborted));
  });

  it("fails when what a join waits for was not chosen", async () => {
    simulator.script({ text: "a" }, { text: "A." });
    const run = start({
      start: "choose",
      nodes: [route("choose"), agent("a"), agent("b"), agent("join")],
      edges: [
        { from: "choose", to: "a" },
        { from: "choose", to: "b" },
        { from: ["a", "b"], to: "join" },
      ],
    });
    expect(await failureOf(run)).toMatchObject({
      code: "invalid_spec",
      details: expect.stringContaining("join"),
    });
  });

  it("echoes offline through every node", async () => {
    const nodes = [agent("one"), agent("two")];
    const run = start(
      { start: "one", nodes, edges: [{ from: "one", to: "two" }] },
      { model: "offline/echo" },
    );
    expect((await run.result).output).toContain("Hello");
    expect(nodesOf(run)).toEqual(["one", "two"]);
  });
});
