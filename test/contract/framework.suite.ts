import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunFailure } from "../../src/frameworks/index.ts";
import type { Framework } from "../../src/frameworks/types.ts";
import { failureOf, type StartedRun, startRun, type TestRun, testTool } from "../support/framework-run.ts";
import { type ModelSimulator, startModelSimulator } from "../support/model-simulator.ts";

const weatherCall = { toolCalls: [{ name: "WEATHER_TODAY", args: { city: "Oslo" } }] };

const typesOf = ({ events }: StartedRun) => events.map(({ type }) => type);

/** What every framework owes to the rest of the service, tried against a simulated model server. */
export function frameworkSuite(framework: Framework): void {
  describe(`framework ${framework.id}`, () => {
    let simulator: ModelSimulator;
    const start = (test: TestRun = {}) => startRun(framework, { keys: simulator.keys, ...test });

    beforeEach(async () => {
      simulator = await startModelSimulator();
    });
    afterEach(() => simulator.close());

    describe("answers", () => {
      it("sends instructions, message and parameters and returns the text", async () => {
        simulator.script({ text: "Good morning.", usage: { input: 12, output: 3, cached: 8 } });
        const run = start({
          message: "Hi!",
          spec: { parameters: { temperature: 0.5, maxOutputTokens: 77 } },
        });
        expect(await run.result).toEqual({ output: "Good morning." });
        expect(run.spent).toEqual([{ input: 12, output: 3, cached: 8 }]);
        expect(run.events).toEqual([
          { type: "step.started", step: 1 },
          {
            type: "step.finished",
            step: 1,
            text: "Good morning.",
            usage: { input: 12, output: 3, cached: 8 },
            durationMs: expect.any(Number),
          },
        ]);
        const [request] = simulator.requests;
        expect(request?.headers.authorization).toBe(`Bearer ${simulator.keys["openai-compatible"]?.apiKey}`);
        expect(request?.body).toMatchObject({ model: "test-model", temperature: 0.5, max_tokens: 77 });
        expect(request?.body.messages[0]).toMatchObject({ role: "system", content: "You test things." });
        expect(JSON.stringify(request?.body.messages[1])).toContain("Hi!");
      });

      it.each([
        "openai/gpt-4.1-mini",
        "openai/gpt-5-mini",
        "anthropic/claude-sonnet-4-5",
        "google/gemini-2.5-flash",
        "ollama/llama3.2",
      ])("speaks the protocol of %s, tools and cached tokens included", async (model) => {
        simulator.script(
          { ...weatherCall, usage: { input: 100, output: 20, cached: 60 } },
          { text: "Sunny." },
        );
        const tool = testTool(async () => ({ ok: true, content: { sky: "clear" } }));
        const run = start({ model, tools: [tool] });
        expect(await run.result).toEqual({ output: "Sunny." });
        expect(tool.calls).toEqual([{ city: "Oslo" }]);
        expect(run.spent).toEqual([
          { input: 100, output: 20, cached: 60 },
          { input: 10, output: 5, cached: 0 },
        ]);
        const [first, second] = simulator.requests;
        expect(`${first?.path}${JSON.stringify(first?.body)}`).toContain(model.split("/")[1]);
        expect(JSON.stringify(first?.body)).toContain("You test things.");
        expect(JSON.stringify(second?.body)).toContain("clear");
      });

      it("takes an empty answer and one that was cut off for answers", async () => {
        simulator.script({ text: "" }, { text: "Once upon a", finish: "length" });
        expect(await start().result).toEqual({ output: "" });
        expect(await start().result).toEqual({ output: "Once upon a" });
      });

      it.each([
        "openai-compatible/m",
        "openai/gpt-5-mini",
        "anthropic/claude-sonnet-4-5",
        "google/gemini-2.5-flash",
      ])("gives %s something to read when there is no message", async (model) => {
        simulator.script({ text: "a" }, { text: "b" });
        await start({ model, message: "" }).result;
        await start({ model, message: " \n" }).result;
        for (const { body } of simulator.requests) {
          const message = (body.messages ?? body.input ?? body.contents).at(-1);
          expect(JSON.stringify(message)).toMatch(/user.*\w\./);
        }
      });

      it("echoes offline, byte for byte, with whole tokens", async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.oneof(fc.string({ unit: "binary" }), fc.constant("\ud800 \0 \r\n ")),
            async (message) => {
              const run = start({ model: "offline/echo", message });
              expect(await run.result).toEqual({ output: message });
              const output = Math.ceil(Buffer.byteLength(message) / 4);
              expect(run.spent).toEqual([{ input: expect.any(Number), output, cached: 0 }]);
              expect(Number.isInteger(run.spent[0]?.input)).toBe(true);
            },
          ),
          { numRuns: 50 },
        );
        expect(simulator.requests).toEqual([]);
      });
    });

    describe("tools", () => {
      it("goes round until the model has an answer and traces each step", async () => {
        simulator.script(weatherCall, { text: "Sunny." });
        const tool = testTool(async () => ({ ok: true, content: "clear sky" }));
        const run = start({ tools: [tool] });
        await run.result;
        expect(typesOf(run)).toEqual([
          "step.started",
          "tool.called",
          "tool.finished",
          "step.finished",
          "step.started",
          "step.finished",
        ]);
        expect(run.events[1]).toMatchObject({
          step: 1,
          callId: "call_1",
          tool: "WEATHER_TODAY",
          args: { city: "Oslo" },
        });
        expect(run.events[2]).toMatchObject({ step: 1, callId: "call_1", ok: true, result: "clear sky" });
        expect(simulator.requests[0]?.body.tools[0].function).toMatchObject({
          name: tool.slug,
          description: tool.description,
          parameters: tool.inputSchema,
        });
        expect(simulator.requests[1]?.body.messages.at(-1)).toMatchObject({
          role: "tool",
          content: "clear sky",
        });
      });

      it("gives a provider back what it sent along with a call", async () => {
        const part = {
          functionCall: { name: "WEATHER_TODAY", args: { city: "Oslo" } },
          thoughtSignature: "c2ln",
        };
        const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP" };
        simulator.script({ events: [{ candidates: [candidate] }] }, { text: "Sunny." });
        const tool = testTool(async () => ({ ok: true, content: "clear sky" }));
        await start({ model: "google/gemini-2.5-flash", tools: [tool] }).result;
        expect(JSON.stringify(simulator.requests[1]?.body.contents[1])).toContain(
          '"thoughtSignature":"c2ln"',
        );
      });

      it("keeps results apart whose calls have the same id", async () => {
        simulator.script(weatherCall, weatherCall, { text: "Changing." });
        const skies = ["clear", "grey"];
        const tool = testTool(async () => ({ ok: true, content: skies.shift() }));
        const run = start({ tools: [tool] });
        expect(await run.result).toEqual({ output: "Changing." });
        const { messages } = simulator.requests[2]?.body ?? {};
        expect(messages.map(({ role, content }: Record<string, unknown>) => [role, content])).toEqual([
          ["system", "You test things."],
          ["user", "Hello"],
          ["assistant", expect.toSatisfy((content) => !content)],
          ["tool", "clear"],
          ["assistant", expect.toSatisfy((content) => !content)],
          ["tool", "grey"],
        ]);
      });

      it("calls the tools of a step at the same time and answers them in order", async () => {
        const calls = ["Oslo", "Rome"].map((city, index) => ({
          name: "WEATHER_TODAY",
          args: { city },
          id: `call_${index}`,
        }));
        simulator.script({ toolCalls: calls }, { text: "Mixed." });
        const both = Promise.withResolvers<void>();
        const tool = testTool(async (args) => {
          if (tool.calls.length === 2) both.resolve();
          await both.promise;
          return { ok: true, content: args };
        });
        await start({ tools: [tool] }).result;
        const { messages } = simulator.requests[1]?.body ?? {};
        expect(messages.slice(-2)).toMatchObject([
          { role: "tool", tool_call_id: "call_0", content: '{"city":"Oslo"}' },
          { role: "tool", tool_call_id: "call_1", content: '{"city":"Rome"}' },
        ]);
      });

      it("does not call a tool by arguments that are no JSON, even one that takes anything", async () => {
        simulator.script({ toolCalls: [{ name: "WEATHER_TODAY", args: "{city:" }] }, { text: "Sorry." });
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        tool.inputSchema = { type: "object" };
        const run = start({ tools: [tool] });
        await run.result;
        expect(tool.calls).toEqual([]);
        expect(run.events[1]).toMatchObject({ type: "tool.called", args: "{city:" });
      });

      it("tells the model about a tool that did not work and goes on", async () => {
        simulator.script(weatherCall, { text: "I could not find out." });
        const run = start({
          tools: [testTool(async () => ({ ok: false, content: { reason: "no such city" } }))],
        });
        expect(await run.result).toEqual({ output: "I could not find out." });
        expect(run.events[2]).toMatchObject({
          type: "tool.finished",
          ok: false,
          result: { reason: "no such city" },
        });
        expect(JSON.stringify(simulator.requests[1]?.body)).toContain("no such city");
      });

      it("ends the run by a RunFailure of a tool, without another model call", async () => {
        simulator.script(weatherCall);
        const failure = new RunFailure("connection_expired", "the token was revoked");
        const run = start({ tools: [testTool(() => Promise.reject(failure))] });
        expect(await failureOf(run)).toBe(failure);
        expect(simulator.requests).toHaveLength(1);
        expect(run.events[2]).toMatchObject({ type: "tool.finished", ok: false, result: failure.message });
        expect(run.events.at(-1)).toMatchObject({ type: "step.finished", step: 1 });
      });

      it("does not wait for the other tools of the step when one ends the run", async () => {
        simulator.script({
          toolCalls: [...weatherCall.toolCalls, { name: "SLOW_TOOL", args: { city: "Rome" }, id: "call_2" }],
        });
        const failing = testTool(() => Promise.reject(new RunFailure("connection_missing", "none")));
        let told: AbortSignal | undefined;
        const slow = testTool((_args, signal) => {
          told = signal;
          return new Promise(() => {});
        }, "SLOW_TOOL");
        expect(await failureOf(start({ tools: [failing, slow] }))).toMatchObject({
          code: "connection_missing",
        });
        expect(told?.aborted).toBe(true);
      });

      it("fails as tool_failed when a tool throws anything else", async () => {
        simulator.script(weatherCall);
        const run = start({ tools: [testTool(() => Promise.reject(new TypeError("x is not a function")))] });
        expect(await failureOf(run)).toMatchObject({
          code: "tool_failed",
          details: expect.stringContaining("x is not"),
        });
        expect(JSON.stringify(run.events)).not.toContain("x is not a function");
      });

      it.each([
        ["an unknown tool", { name: "NO_SUCH_TOOL", args: {} }],
        ["arguments that do not fit", { name: "WEATHER_TODAY", args: { town: 1 } }],
        ["arguments that are no JSON", { name: "WEATHER_TODAY", args: "{city:" }],
      ])("tells the model about a call of %s", async (_what, call) => {
        simulator.script({ toolCalls: [call] }, { text: "Never mind." });
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        const run = start({ tools: [tool] });
        expect(await run.result).toEqual({ output: "Never mind." });
        expect(tool.calls).toEqual([]);
        expect(run.events[1]).toMatchObject({ type: "tool.called", tool: call.name });
        expect(run.events[2]).toMatchObject({
          type: "tool.finished",
          ok: false,
          result: expect.stringMatching(/\w/),
        });
        expect(simulator.requests[1]?.body.messages.at(-1)).toMatchObject({ role: "tool" });
      });
    });

    describe("limits", () => {
      it("ends by max_steps without executing the tools of the last step", async () => {
        simulator.script(weatherCall, { ...weatherCall, text: "One moment." });
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        const run = start({ tools: [tool], spec: { parameters: { maxSteps: 2 } } });
        expect(await failureOf(run)).toMatchObject({ code: "max_steps" });
        expect(tool.calls).toHaveLength(1);
        expect(simulator.requests).toHaveLength(2);
        expect(run.spent).toHaveLength(2);
        expect(run.events.at(-1)).toMatchObject({ type: "step.finished", step: 2, text: "One moment." });
      });

      it("stops by budget as soon as the call's tokens are known", async () => {
        simulator.script(weatherCall, { text: "never asked for" });
        const failure = new RunFailure("budget_exceeded", "0.02 of 0.01 USD");
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        const run = start({ tools: [tool], spend: () => Promise.reject(failure) });
        expect(await failureOf(run)).toBe(failure);
        expect(tool.calls).toEqual([]);
        expect(simulator.left()).toBe(1);
        expect(typesOf(run)).toEqual(["step.started", "step.finished"]);
      });
    });

    describe("cancellation", () => {
      const reason = new Error("cancelled by its owner");

      it("closes the connection to the provider", async () => {
        const stop = new AbortController();
        simulator.script({ text: "too late", until: new Promise(() => {}) });
        const run = start({ signal: stop.signal });
        const rejected = expect(run.result).rejects.toBe(reason);
        const request = await simulator.request(0);
        stop.abort(reason);
        await rejected;
        await request.aborted;
        expect(run.spent).toEqual([]);
      });

      it("does not wait for a tool", async () => {
        const stop = new AbortController();
        simulator.script(weatherCall);
        const tool = testTool(() => {
          stop.abort(reason);
          return new Promise(() => {});
        });
        await expect(start({ signal: stop.signal, tools: [tool] }).result).rejects.toBe(reason);
        expect(simulator.requests).toHaveLength(1);
      });

      it("does not wait for a retry", async () => {
        const stop = new AbortController();
        simulator.script({ status: 429, headers: { "retry-after": "120" } });
        const onEvent = ({ type }: { type: string }) => type === "model.retried" && stop.abort(reason);
        await expect(start({ signal: stop.signal, onEvent, wait: true }).result).rejects.toBe(reason);
      });

      it.each(["offline/echo", "openai-compatible/m"])(
        "does not begin %s when it is cancelled already",
        async (model) => {
          const run = start({ model, signal: AbortSignal.abort(reason) });
          await expect(run.result).rejects.toBe(reason);
          expect(run.events).toEqual([]);
          expect(simulator.requests).toEqual([]);
        },
      );

      it.each(["offline/echo", "openai-compatible/m"])(
        "has no answer of %s when it comes with it",
        async (model) => {
          const stop = new AbortController();
          simulator.script({ text: "Here." });
          const spend = async () => stop.abort(reason);
          await expect(start({ model, signal: stop.signal, spend }).result).rejects.toBe(reason);
        },
      );
    });
  });
}
