import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Framework } from "../../src/frameworks/types.ts";
import { failureOf, startRun, type TestRun } from "../support/framework-run.ts";
import { type ModelSimulator, startModelSimulator } from "../support/model-simulator.ts";

/** How every framework has to take it when a provider refuses, fails, or answers nonsense. */
export function frameworkFailuresSuite(framework: Framework): void {
  describe(`framework ${framework.id}, providers that fail`, () => {
    let simulator: ModelSimulator;
    const start = (test: TestRun = {}) => startRun(framework, { keys: simulator.keys, ...test });

    beforeEach(async () => {
      simulator = await startModelSimulator();
    });
    afterEach(() => simulator.close());

    it.each([401, 403])("ends by model_auth at %d, at once and without the key", async (status) => {
      const key = simulator.keys["openai-compatible"]?.apiKey ?? "";
      simulator.script({ status, message: `Incorrect API key: ${key}` });
      const failure = await failureOf(start());
      expect(failure).toMatchObject({
        code: "model_auth",
        details: expect.stringContaining(`status ${status}`),
      });
      expect(failure.details).toContain("Incorrect API key");
      expect(failure.details).not.toContain(key);
      expect(simulator.requests).toHaveLength(1);
    });

    it("waits as long as a rate limit says and tries again", async () => {
      simulator.script(
        { status: 429, headers: { "retry-after": "7" } },
        { status: 429 },
        { text: "At last." },
      );
      const run = start();
      expect(await run.result).toEqual({ output: "At last." });
      expect(run.waits).toEqual([7_000, 0]);
      expect(run.events.slice(0, 3)).toEqual([
        { type: "step.started", step: 1 },
        { type: "model.retried", step: 1, attempt: 1, waitMs: 7_000, code: "model_rate_limited" },
        { type: "model.retried", step: 1, attempt: 2, waitMs: 0, code: "model_rate_limited" },
      ]);
    });

    it("gives up when the wait would outlast the run", async () => {
      simulator.script({ status: 429, headers: { "retry-after": "61" } });
      const run = start({ spec: { parameters: { timeoutSeconds: 60 } } });
      expect(await failureOf(run)).toMatchObject({ code: "model_rate_limited" });
      expect(run.waits).toEqual([]);
    });

    it("does not knock again when the quota is used up", async () => {
      simulator.script({
        status: 429,
        code: "insufficient_quota",
        message: "You exceeded your current quota.",
      });
      const run = start();
      expect(await failureOf(run)).toMatchObject({ code: "model_rate_limited" });
      expect(simulator.requests).toHaveLength(1);
    });

    it.each([500, 503, 529])(
      "repeats a call that failed with %d as often as the spec says",
      async (status) => {
        simulator.script({ status }, { status }, { status });
        expect(await failureOf(start({ spec: { retries: 2 } }))).toMatchObject({
          code: "model_unavailable",
        });
        expect(simulator.requests).toHaveLength(3);
        simulator.script({ status });
        expect(await failureOf(start({ spec: { retries: 0 } }))).toMatchObject({
          code: "model_unavailable",
        });
        expect(simulator.requests).toHaveLength(4);
      },
    );

    it("tries again after a broken connection", async () => {
      simulator.script({ reset: true }, { text: "Here I am." });
      const run = start();
      expect(await run.result).toEqual({ output: "Here I am." });
      expect(run.events[1]).toMatchObject({ type: "model.retried", code: "model_unavailable" });
    });

    it("tries again after an answer that was cut off on its way", async () => {
      simulator.script({ midway: "cut", text: "Here I" }, { text: "Here I am." });
      const run = start();
      expect(await run.result).toEqual({ output: "Here I am." });
      expect(run.events[1]).toMatchObject({ type: "model.retried", code: "model_unavailable" });
      expect(run.spent).toHaveLength(1);
    });

    it("ends by model_unavailable when every answer is cut off", async () => {
      simulator.script({ midway: "cut", text: "Here" }, { midway: "cut", text: "Here" });
      expect(await failureOf(start({ spec: { retries: 1 } }))).toMatchObject({ code: "model_unavailable" });
      expect(simulator.left()).toBe(0);
    });

    it("ends by model_unavailable when nobody listens", async () => {
      const keys = { "openai-compatible": { baseUrl: "http://127.0.0.1:9/v1" } };
      expect(await failureOf(start({ keys, spec: { retries: 0 } }))).toMatchObject({
        code: "model_unavailable",
      });
    });

    it.each(["{", "<html>Bad gateway</html>", '{"unexpected": true}'])(
      "ends by model_unavailable at %s",
      async (raw) => {
        simulator.script({ raw });
        expect(await failureOf(start())).toMatchObject({
          code: "model_unavailable",
          details: expect.stringContaining(raw),
        });
        expect(simulator.requests).toHaveLength(1);
      },
    );

    it("ends by model_unavailable when the model is unknown, naming it", async () => {
      simulator.script({
        status: 404,
        code: "model_not_found",
        message: "The model `test-model` does not exist.",
      });
      expect(await failureOf(start())).toMatchObject({
        code: "model_unavailable",
        details: expect.stringContaining("openai-compatible/test-model"),
      });
    });

    it("follows no redirect", async () => {
      simulator.script({ status: 307, headers: { location: `${simulator.origin}/v1/responses` } });
      expect(await failureOf(start({ spec: { retries: 0 } }))).toMatchObject({ code: "model_unavailable" });
      expect(simulator.requests).toHaveLength(1);
    });

    it("keeps the details short", async () => {
      simulator.script({ status: 400, message: "x".repeat(10_000) });
      expect((await failureOf(start())).details.length).toBeLessThanOrEqual(2_048);
    });

    it.each([
      "openai-compatible/m",
      "openai/gpt-5-mini",
      "anthropic/claude-sonnet-4-5",
      "google/gemini-2.5-flash",
    ])("ends by model_refused when %s withholds the answer, after its tokens are counted", async (model) => {
      simulator.script(
        { text: "I can", finish: "content-filter" },
        { text: "I can't help.", finish: "refusal" },
      );
      const filtered = start({ model });
      expect(await failureOf(filtered)).toMatchObject({ code: "model_refused" });
      expect(filtered.spent).toEqual([{ input: 10, output: 5, cached: 0 }]);
      expect(await failureOf(start({ model }))).toMatchObject({ code: "model_refused" });
    });
  });
}
