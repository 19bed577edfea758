import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costUsd, type ModelConnection, type ModelKeys, resolveModel } from "../../../src/models/index.ts";

const keys: ModelKeys = {
  openai: { apiKey: "k" },
  anthropic: { apiKey: "k" },
  google: { apiKey: "k" },
  ollama: { baseUrl: "http://127.0.0.1:11434" },
  "openai-compatible": { baseUrl: "http://127.0.0.1:8000/v1" },
};

function model(ref: string): ModelConnection {
  const resolved = resolveModel(ref, keys);
  if (!resolved.ok) throw new Error(resolved.reason);
  return resolved.model;
}

// The list keeps old prices, so an instant in the past gives the same answer whatever its version.
const at = new Date("2026-09-01T12:00:00Z");

describe("costUsd", () => {
  it.each([
    // 600 at 0.25 + 400 cached at 0.025 + 100 at 2.00 dollars a million
    ["openai/gpt-5-mini", { input: 1_000, cached: 400, output: 100 }, 0.00036],
    ["openai/gpt-5-mini-2025-08-07", { input: 1_000, cached: 400, output: 100 }, 0.00036],
    // 600 at 3 + 400 cached at 0.30 + 100 at 15
    ["anthropic/claude-sonnet-4-5", { input: 1_000, cached: 400, output: 100 }, 0.00342],
    // 600 at 0.30 + 400 cached at 0.03 + 100 at 2.50
    ["google/gemini-2.5-flash", { input: 1_000, cached: 400, output: 100 }, 0.000442],
    ["google/gemini-2.5-flash", { input: 0, cached: 0, output: 0 }, 0],
    ["offline/echo", { input: 1_000, cached: 0, output: 100 }, 0],
  ])("prices %s", (ref, usage, cost) => {
    expect(costUsd(model(ref), usage, at)).toBe(cost);
  });

  it.each([
    "openai/no-such-model",
    "anthropic/gpt-5-mini",
    "ollama/llama3.2",
    "openai-compatible/gpt-5-mini",
  ])("knows no price of %s", (ref) => {
    expect(costUsd(model(ref), { input: 10, output: 10, cached: 0 }, at)).toBeNull();
  });

  it("never throws and never goes below zero", () => {
    const count = fc.nat({ max: 10_000_000 });
    fc.assert(
      fc.property(
        fc.constantFrom("openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"),
        fc.record({ input: count, output: count, cached: count }),
        (ref, usage) => {
          expect(costUsd(model(ref), usage, at)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});
