import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunFailure } from "../../src/frameworks/index.ts";
import type { Framework, TraceEvent } from "../../src/frameworks/types.ts";
import { failureOf, type StartedRun, startRun, type TestRun, testTool } from "../support/framework-run.ts";
import { type ModelSimulator, type SimulatedReply, startModelSimulator } from "../support/model-simulator.ts";

/** One for each protocol. */
const models = [
  "openai-compatible/m",
  "openai/gpt-5-mini",
  "anthropic/claude-sonnet-4-5",
  "google/gemini-2.5-flash",
];

/** An error inside a stream: its status, where the provider tells it, and what the provider calls it. */
const reported = (status: number, code: string, message = "Try again later.") => ({ status, code, message });

const usage = { input: 100, output: 20, cached: 60 };
const text = "It is sunny in Oslo today, and warm for the time of the year.";

const liveTexts = (events: readonly TraceEvent[]) =>
  events.map((event) => (event.type === "text.delta" ? event.text : "")).join("");

/** What every framework owes while answers stream in, and when a stream breaks. */
export function frameworkStreamsSuite(framework: Framework): void {
  describe(`framework ${framework.id}, streams`, () => {
    let simulator: ModelSimulator;
    const start = (test: TestRun = {}) => startRun(framework, { keys: simulator.keys, ...test });

    beforeEach(async () => {
      simulator = await startModelSimulator();
    });
    afterEach(() => simulator.close());

    describe.each(models)("of %s", (model) => {
      it("are put together, calls between words included", async () => {
        const cities = ["Oslo", "Rome"].map((city, index) => ({
          name: "WEATHER_TODAY",
          args: { city },
          id: `call_${index}`,
        }));
        simulator.script({ text: "One moment, please.", toolCalls: cities, usage }, { text });
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        const run = start({ model, tools: [tool] });
        expect(await run.result).toEqual({ output: text });
        expect(tool.calls).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
        expect(run.spent).toEqual([usage, { input: 10, output: 5, cached: 0 }]);
        expect(run.events.find(({ type }) => type === "step.finished")).toMatchObject({
          text: "One moment, please.",
        });
        expect(JSON.stringify(simulator.requests[1]?.body)).toContain("One moment, please.");
      });

      it.each<[string, SimulatedReply]>([
        ["are cut", { midway: "cut" }],
        ["end in the middle", { midway: "end" }],
        ["end before the answer does", { midway: "no-end" }],
        ["report an overload", { midway: reported(503, "overloaded_error") }],
        ["report an outage", { midway: reported(500, "api_error") }],
      ])("are asked for again when they %s, and count once", async (_what, broken) => {
        simulator.script({ text: "It is rainy, or so they say.", usage, ...broken }, { text, usage });
        const run = start({ model });
        expect(await run.result).toEqual({ output: text });
        expect(run.spent).toEqual([usage]);
        expect(run.events.map(({ type }) => type)).toEqual([
          "step.started",
          "model.retried",
          "step.finished",
        ]);
        expect(run.events[1]).toMatchObject({ attempt: 1, code: "model_unavailable" });
        expect(run.events[2]).toMatchObject({ text, usage });
      });

      it("never execute the tools of an answer that broke off", async () => {
        const toolCalls = [{ name: "WEATHER_TODAY", args: { city: "Rome" } }];
        simulator.script({ toolCalls, midway: "no-end" }, { text });
        const tool = testTool(async () => ({ ok: true, content: "clear" }));
        expect(await start({ model, tools: [tool] }).result).toEqual({ output: text });
        expect(tool.calls).toEqual([]);
      });

      it("are asked for again after a rate limit in the middle", async () => {
        simulator.script({ text, midway: reported(429, "rate_limit_error") }, { text });
        const run = start({ model });
        expect(await run.result).toEqual({ output: text });
        expect(run.events[1]).toMatchObject({ type: "model.retried", code: "model_rate_limited" });
      });

      it("end the run at once when the provider refuses the key in the middle, which is not told", async () => {
        const [provider] = model.split("/");
        const [, { apiKey = "" } = {}] =
          Object.entries(simulator.keys).find(([name]) => name === provider) ?? [];
        simulator.script({ text, midway: reported(401, "authentication_error", `Bad key: ${apiKey}`) });
        const failure = await failureOf(start({ model }));
        expect(failure).toMatchObject({ code: "model_auth", details: expect.stringContaining("Bad key") });
        expect(failure.details).toContain(model);
        expect(apiKey).not.toBe("");
        expect(failure.details).not.toContain(apiKey);
        expect(simulator.requests).toHaveLength(1);
      });

      it("end the run at once when an event is no JSON", async () => {
        simulator.script({ text, midway: "malformed" });
        const run = start({ model });
        expect(await failureOf(run)).toMatchObject({
          code: "model_unavailable",
          details: expect.stringContaining("cut off here"),
        });
        expect(simulator.requests).toHaveLength(1);
        expect(run.spent).toEqual([]);
      });

      it.each([
        ["JSON", "application/json; charset=utf-8", '{"result": "a whole answer"}'],
        ["a page", "text/html", "<html>Log in to the network</html>"],
      ])("end the run at once when they are %s instead", async (_what, type, raw) => {
        simulator.script({ raw, headers: { "content-type": type } });
        expect(await failureOf(start({ model }))).toMatchObject({
          code: "model_unavailable",
          details: expect.stringContaining(raw),
        });
        expect(simulator.requests).toHaveLength(1);
      });

      it.each<[string, Error]>([
        ["cancelled", new Error("cancelled by its owner")],
        ["out of time", new RunFailure("timeout", "The run took longer than 60 s.")],
      ])("are left at once in the middle when the run is %s", async (_what, reason) => {
        const stop = new AbortController();
        simulator.script({ text, stallUntil: new Promise(() => {}) });
        const onEvent = ({ type }: TraceEvent) => type === "text.delta" && stop.abort(reason);
        const run = start({ model, signal: stop.signal, liveTextMs: 0, onEvent });
        await expect(run.result).rejects.toBe(reason);
        await simulator.requests[0]?.aborted;
        expect(run.spent).toEqual([]);
        expect(simulator.requests).toHaveLength(1);
      });

      it("are told while they come", async () => {
        const seen = Promise.withResolvers<void>();
        simulator.script({ text, stallUntil: seen.promise });
        const onEvent = ({ type }: TraceEvent) => type === "text.delta" && seen.resolve();
        const run = start({ model, liveTextMs: 0, onEvent });
        expect(await run.result).toEqual({ output: text });
        expectLiveText(run, text);
      });
    });

    it.each(models.slice(0, 3))("of %s may have arguments that are no JSON", async (model) => {
      simulator.script({ toolCalls: [{ name: "WEATHER_TODAY", args: "{city:" }] }, { text: "Sorry." });
      const tool = testTool(async () => ({ ok: true, content: "clear" }));
      const run = start({ model, tools: [tool] });
      expect(await run.result).toEqual({ output: "Sorry." });
      expect(tool.calls).toEqual([]);
      expect(run.events[1]).toMatchObject({ type: "tool.called", args: "{city:" });
      expect(run.events[2]).toMatchObject({ type: "tool.finished", ok: false });
    });

    it("tell nothing while they come when they are quick", async () => {
      simulator.script({ text });
      const run = start();
      await run.result;
      expect(run.events.map(({ type }) => type)).toEqual(["step.started", "step.finished"]);
    });

    it("are told anew after a retry", async () => {
      const seen = Promise.withResolvers<void>();
      const again = Promise.withResolvers<void>();
      simulator.script(
        { text: "Rain all day, and cold.", stallUntil: seen.promise, midway: "cut" },
        { text, stallUntil: again.promise },
      );
      let retried = false;
      const onEvent = ({ type }: TraceEvent) => {
        if (type === "model.retried") retried = true;
        if (type === "text.delta") (retried ? again : seen).resolve();
      };
      const run = start({ liveTextMs: 0, onEvent });
      expect(await run.result).toEqual({ output: text });
      const retry = run.events.findIndex(({ type }) => type === "model.retried");
      expect("Rain all day, and cold.").toContain(liveTexts(run.events.slice(0, retry)).trim());
      expectLiveText({ ...run, events: run.events.slice(retry) }, text);
    });
  });
}

/** Words of the beginning of the answer before the end of its step, and none behind it. */
function expectLiveText({ events }: Pick<StartedRun, "events">, whole: string): void {
  const told = liveTexts(events);
  expect(told).toMatch(/\w/);
  expect(whole.startsWith(told)).toBe(true);
  expect(events.find(({ type }) => type === "text.delta")).toMatchObject({ step: 1 });
  expect(events.at(-1)).toMatchObject({ type: "step.finished", step: 1, text: whole });
}
