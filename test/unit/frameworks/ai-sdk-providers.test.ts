import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aiSdk } from "../../../src/frameworks/ai-sdk/index.ts";
import { startRun, type TestRun, testTool } from "../../support/framework-run.ts";
import { type ModelSimulator, startModelSimulator } from "../../support/model-simulator.ts";
import { encodeStream, serverSentEvent } from "../../support/model-streams.ts";

describe("the AI SDK's providers", () => {
  let simulator: ModelSimulator;
  const start = (test: TestRun) => startRun(aiSdk, { keys: simulator.keys, ...test });

  beforeEach(async () => {
    simulator = await startModelSimulator();
  });
  afterEach(() => simulator.close());

  it("asks OpenAI's Responses API and lets nothing be stored there", async () => {
    simulator.script({ toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] }, { text: "Sunny." });
    const tool = testTool(async () => ({ ok: false, content: "no such city" }));
    await start({ model: "openai/gpt-5-mini", tools: [tool] }).result;
    const [first, second] = simulator.requests;
    expect(first?.path).toBe("/v1/responses");
    expect(first?.headers.authorization).toBe(`Bearer ${simulator.keys.openai?.apiKey}`);
    expect(first?.body).toMatchObject({ store: false, tools: [{ name: "WEATHER_TODAY", strict: false }] });
    expect(second?.body.input.slice(-2)).toMatchObject([
      { type: "function_call", call_id: "call_1", name: "WEATHER_TODAY" },
      { type: "function_call_output", call_id: "call_1", output: '{"error":"no such city"}' },
    ]);
  });

  it("tells Anthropic which tool results are errors", async () => {
    simulator.script({ toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] }, { text: "Sunny." });
    const tool = testTool(async () => ({ ok: false, content: { reason: "no such city" } }));
    await start({ model: "anthropic/claude-sonnet-4-5", tools: [tool] }).result;
    const [first, second] = simulator.requests;
    expect(first?.path).toBe("/v1/messages");
    expect(first?.headers["x-api-key"]).toBe(simulator.keys.anthropic?.apiKey);
    expect(first?.body.max_tokens).toBeGreaterThan(1_000);
    expect(second?.body.messages.at(-1).content[0]).toMatchObject({ type: "tool_result", is_error: true });
  });

  it("sends Google's key in a header, never in the address", async () => {
    simulator.script({ text: "Hi." });
    await start({ model: "google/gemini-2.5-flash" }).result;
    expect(simulator.requests[0]?.path).toBe("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    expect(simulator.requests[0]?.headers["x-goog-api-key"]).toBe(simulator.keys.google?.apiKey);
  });

  it("fails as model_refused when Google blocks the prompt itself", async () => {
    simulator.script({
      events: [
        { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 7 } },
      ],
    });
    const run = start({ model: "google/gemini-2.5-flash" });
    await expect(run.result).rejects.toMatchObject({ code: "model_refused" });
    expect(run.spent).toEqual([{ input: 7, output: 0, cached: 0 }]);
  });

  it("sends no key to a compatible server that has none", async () => {
    simulator.script({ text: "Hi." });
    await start({ model: "ollama/llama3.2" }).result;
    expect(simulator.requests[0]?.path).toBe("/v1/chat/completions");
    expect(simulator.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("counts nothing as 0 when a server reports no tokens", async () => {
    simulator.script({
      events: [{ choices: [{ delta: { role: "assistant", content: "Hi." }, finish_reason: "stop" }] }],
    });
    const run = start({});
    expect(await run.result).toEqual({ output: "Hi." });
    expect(run.spent).toEqual([{ input: 0, output: 0, cached: 0 }]);
  });

  it("asks compatible servers for the tokens of a stream", async () => {
    simulator.script({ text: "Hi." });
    await start({}).result;
    expect(simulator.requests[0]?.body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("understands an answer of Anthropic that begins with no JSON", async () => {
    simulator.script({
      raw: "data: {not json\n\n",
      headers: { "content-type": "text/event-stream" },
    });
    const run = start({ model: "anthropic/claude-sonnet-4-5" });
    await expect(run.result).rejects.toMatchObject({ code: "model_unavailable" });
    expect(simulator.requests).toHaveLength(1);
  });

  it("gives Anthropic its reasoning back with the signature that came behind it", async () => {
    const call = encodeStream("messages", { toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] });
    const [first = "", ...rest] = [...call.body, ...call.end];
    const thought = [
      { type: "content_block_start", index: 7, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 7, delta: { type: "thinking_delta", thinking: "Hm, " } },
      { type: "content_block_delta", index: 7, delta: { type: "thinking_delta", thinking: "Oslo." } },
      { type: "content_block_delta", index: 7, delta: { type: "signature_delta", signature: "c2ln" } },
      { type: "content_block_stop", index: 7 },
    ];
    simulator.script(
      {
        raw: [first, ...thought.map(serverSentEvent), ...rest].join(""),
        headers: { "content-type": "text/event-stream" },
      },
      { text: "Sunny." },
    );
    const tool = testTool(async () => ({ ok: true, content: "clear" }));
    await start({ model: "anthropic/claude-sonnet-4-5", tools: [tool] }).result;
    expect(simulator.requests[1]?.body.messages[1]?.content).toMatchObject([
      { type: "thinking", thinking: "Hm, Oslo.", signature: "c2ln" },
      { type: "tool_use", name: "WEATHER_TODAY", input: { city: "Oslo" } },
    ]);
  });

  it("prints no warnings", async () => {
    const warnings: Error[] = [];
    const listener = (warning: Error) => warnings.push(warning);
    process.on("warning", listener);
    simulator.script({ text: "Hi." });
    await start({ model: "openai/gpt-5-mini", spec: { parameters: { temperature: 1 } } }).result;
    // Process warnings are delivered in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listener);
    expect(simulator.requests[0]?.body.temperature).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it("lets tools pass whose schema cannot be checked here", async () => {
    const tool = testTool(async () => ({ ok: true, content: "clear" }));
    tool.inputSchema = { type: "object", not: { required: ["a"] } };
    simulator.script({ toolCalls: [{ name: tool.slug, args: { a: 1 } }] }, { text: "Done." });
    expect(await start({ tools: [tool] }).result).toEqual({ output: "Done." });
    expect(tool.calls).toEqual([{ a: 1 }]);
  });

  it("gives tools the arguments as the model sent them", async () => {
    const tool = testTool(async () => ({ ok: true, content: undefined }));
    tool.inputSchema = { type: "object", properties: { unit: { type: "string", default: "celsius" } } };
    simulator.script({ toolCalls: [{ name: tool.slug, args: { extra: 1 } }] }, { text: "Done." });
    await start({ tools: [tool] }).result;
    expect(tool.calls).toEqual([{ extra: 1 }]);
  });
});
