import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunFailure, type RunReach, type RunTool } from "../../../src/frameworks/index.ts";
import { openaiAgents } from "../../../src/frameworks/openai-agents/index.ts";
import { resolveModel } from "../../../src/models/index.ts";
import { failureOf, type StartedRun, startRun, type TestRun, testTool } from "../../support/framework-run.ts";
import { type ModelSimulator, startModelSimulator } from "../../support/model-simulator.ts";

interface Other {
  handoffs?: readonly string[];
  framework?: string;
  model?: string;
  tools?: RunTool[];
  parameters?: Record<string, unknown>;
}

const handoffTo = (name: string, id = "call_1") => ({
  toolCalls: [{ name: `transfer_to_${name.replaceAll("-", "_")}`, args: {}, id }],
});

const told = ({ events }: StartedRun) =>
  events.map((event) =>
    [event.type, event.step, event.agent, ...("to" in event ? [event.to] : [])].join(" ").trim(),
  );

describe("agents that hand off to each other", () => {
  let simulator: ModelSimulator;
  let looked: string[];

  /** Agents of one repository, each with what differs from a plain one. */
  function reach(others: Record<string, Other>): RunReach {
    const model = async (ref: string) => {
      const resolved = resolveModel(ref, simulator.keys);
      if (!resolved.ok) throw new RunFailure("model_not_configured", resolved.reason);
      return resolved.model;
    };
    return {
      model,
      async agent(name) {
        looked.push(name);
        const other = others[name];
        if (!other) throw new RunFailure("invalid_spec", `There is no agent ${name}.`);
        const { tools = [], framework = "openai-agents", handoffs = [], parameters = {} } = other;
        const ref = other.model ?? "openai-compatible/test-model";
        const base = { name, framework, model: ref, instructions: `You are ${name}.`, parameters };
        const spec = {
          ...openaiAgents.spec.parse({ ...base, handoffs, framework: "openai-agents" }),
          framework,
        };
        return { spec, model: await model(ref), tools };
      },
    };
  }

  const start = (handoffs: readonly string[], others: Record<string, Other>, test: TestRun = {}) =>
    startRun(openaiAgents, {
      keys: simulator.keys,
      reach: reach(others),
      ...test,
      spec: { handoffs, ...test.spec },
    });

  beforeEach(async () => {
    looked = [];
    simulator = await startModelSimulator();
  });
  afterEach(() => simulator.close());

  it("leave the rest of the run to the other, which knows what was said", async () => {
    simulator.script(handoffTo("billing-desk"), { text: "Your invoice is paid." });
    const run = start(["billing-desk"], { "billing-desk": {} });
    expect(await run.result).toEqual({ output: "Your invoice is paid." });
    expect(told(run)).toEqual([
      "step.started 1 tester",
      "handoff 1 tester billing-desk",
      "step.finished 1 tester",
      "step.started 2 billing-desk",
      "step.finished 2 billing-desk",
    ]);
    expect(run.spent).toHaveLength(2);
    const [first, second] = simulator.requests;
    expect(first?.body.tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      "transfer_to_billing_desk",
    ]);
    expect(second?.body.messages[0]).toEqual({ role: "system", content: "You are billing-desk." });
    expect(JSON.stringify(second?.body.messages[1])).toContain("Hello");
    expect(second?.body.tools).toBeUndefined();
  });

  it("use their own tools, models and parameters", async () => {
    const tool = testTool(async () => ({ ok: true, content: "clear" }));
    simulator.script(
      { ...handoffTo("weather"), usage: { input: 100, output: 1 } },
      { toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] },
      { text: "Sunny." },
    );
    const models: string[] = [];
    const run = start(["weather"], {
      weather: { model: "anthropic/claude-sonnet-4-5", tools: [tool], parameters: { maxOutputTokens: 77 } },
    });
    expect(await run.result).toEqual({ output: "Sunny." });
    models.push(...simulator.requests.map(({ protocol }) => protocol));
    expect(models).toEqual(["chat-completions", "messages", "messages"]);
    expect(simulator.requests[1]?.body.max_tokens).toBe(77);
    expect(tool.calls).toEqual([{ city: "Oslo" }]);
    expect(run.events.filter(({ type }) => type === "tool.called")).toMatchObject([
      { agent: "weather", step: 2 },
    ]);
  });

  it("may come back to where they came from, until the run's steps are used up", async () => {
    simulator.script(handoffTo("other"), handoffTo("tester"), handoffTo("other"), handoffTo("tester"));
    const run = start(
      ["other"],
      { other: { handoffs: ["tester"] } },
      { spec: { parameters: { maxSteps: 3 } } },
    );
    expect(await failureOf(run)).toMatchObject({ code: "max_steps" });
    expect(told(run).filter((line) => line.startsWith("handoff"))).toEqual([
      "handoff 1 tester other",
      "handoff 2 other tester",
    ]);
    expect(simulator.left()).toBe(1);
    expect(looked).toEqual(["other"]);
  });

  it("follow the first of several handoffs and leave no call without its answer", async () => {
    const both = [...handoffTo("one").toolCalls, ...handoffTo("two", "call_2").toolCalls];
    simulator.script({ toolCalls: both }, { text: "One is here." });
    const run = start(["one", "two"], { one: {}, two: {} });
    expect(await run.result).toEqual({ output: "One is here." });
    const messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[] =
      simulator.requests[1]?.body.messages;
    const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    const answers = messages.flatMap(({ tool_call_id = [] }) => tool_call_id);
    expect(answers).toEqual(calls);
    expect(answers).toContain("call_1");
  });

  it("are all looked up before the first model call", async () => {
    const chain = { a: { handoffs: ["b", "c"] }, b: { handoffs: ["c"] }, c: { handoffs: ["missing"] } };
    const run = start(["a"], chain);
    expect(await failureOf(run)).toMatchObject({
      code: "invalid_spec",
      details: "There is no agent missing.",
    });
    expect(looked).toEqual(["a", "b", "c", "missing"]);
    expect(simulator.requests).toEqual([]);
    expect(run.events).toEqual([]);
  });

  it("do not run without what one of them needs", async () => {
    const failure = new RunFailure("connection_missing", "Not connected: GMAIL_SEND_EMAIL.");
    const lacking: RunReach = { ...reach({}), agent: () => Promise.reject(failure) };
    expect(await failureOf(start(["mail"], {}, { reach: lacking }))).toBe(failure);
    expect(simulator.requests).toEqual([]);
  });

  it("belong to one framework", async () => {
    const run = start(["elsewhere"], { elsewhere: { framework: "ai-sdk" } });
    expect(await failureOf(run)).toMatchObject({
      code: "invalid_spec",
      details: expect.stringContaining("elsewhere takes part by a handoff"),
    });
  });

  it("stay within a number of handoffs in a row", async () => {
    const chain = Object.fromEntries(
      "abcdef".split("").map((name, index) => [name, { handoffs: ["bcdefg"[index] ?? ""] }]),
    );
    const tooLong = await failureOf(start(["a"], { ...chain, g: {} }));
    expect(tooLong).toMatchObject({ code: "invalid_spec", details: expect.stringContaining("too far") });
    expect(looked).not.toContain("f");
  });

  it("have names of functions that no provider refuses, however long theirs are", async () => {
    const long = (last: string) => `${"x".repeat(62)}${last}`;
    simulator.script({ text: "Hi." });
    await start([long("a"), long("b")], { [long("a")]: {}, [long("b")]: {} }).result;
    const names = simulator.requests[0]?.body.tools.map(
      (tool: { function: { name: string } }) => tool.function.name,
    );
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_]{1,64}$/);
  });

  it("are stopped together with the run", async () => {
    const stop = new AbortController();
    const reason = new Error("cancelled by its owner");
    simulator.script(handoffTo("other"), { text: "too late", until: new Promise(() => {}) });
    const run = start(["other"], { other: {} }, { signal: stop.signal });
    const rejected = expect(run.result).rejects.toBe(reason);
    const request = await simulator.request(1);
    stop.abort(reason);
    await rejected;
    await request.aborted;
  });

  it.each([
    ["itself", { handoffs: ["tester"] }],
    ["an agent twice", { handoffs: ["a", "a"] }],
    ["more than eight", { handoffs: "abcdefghi".split("") }],
    ["what is no name", { handoffs: ["A B"] }],
  ])("cannot name %s", (_what, keys) => {
    const spec = {
      name: "tester",
      framework: "openai-agents",
      model: "offline/echo",
      instructions: "x",
      ...keys,
    };
    expect(openaiAgents.spec.safeParse(spec).success).toBe(false);
  });
});
