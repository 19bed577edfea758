import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseEvalFile } from "../../../src/agents/eval-file.ts";

const files = new URL("../../../examples/agents-repository/agents/", import.meta.url);

test.each([
  "ai-sdk/hello.eval.yaml",
  "ai-sdk/triage.eval.yaml",
  "openai-agents/front-desk.eval.yaml",
  "langgraph/weekly-report.eval.yaml",
])("the checks of %s hold for a model that echoes", (name) => {
  const { evalFile } = parseEvalFile(readFileSync(new URL(name, files)), "yaml");
  expect(evalFile?.cases.length).toBeGreaterThan(0);
  for (const { input, assert = {} } of evalFile?.cases ?? []) {
    const output = input.toLowerCase();
    for (const text of [assert.contains ?? []].flat()) expect(output).toContain(text.toLowerCase());
    for (const text of [assert.not_contains ?? []].flat()) expect(output).not.toContain(text.toLowerCase());
    if (assert.regex !== undefined) expect(input).toMatch(new RegExp(assert.regex));
    if (assert.equals !== undefined) expect(input.trim()).toBe(assert.equals);
    if (assert.max_chars !== undefined) expect(input.length).toBeLessThanOrEqual(assert.max_chars);
  }
});
