import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyPath, groupKey } from "../../../src/agents/spec-path.ts";

describe("classifyPath", () => {
  test.each([
    ["agents/ai-sdk/hello.yaml", { kind: "spec", framework: "ai-sdk", name: "hello", format: "yaml" }],
    ["agents/ai-sdk/hello.yml", { kind: "spec", framework: "ai-sdk", name: "hello", format: "yaml" }],
    ["agents/ai-sdk/hello.json", { kind: "spec", framework: "ai-sdk", name: "hello", format: "json" }],
    ["agents/unknown/x.yaml", { kind: "spec", framework: "unknown", name: "x", format: "yaml" }],
    ["agents/ai-sdk/Foo Bar.yaml", { kind: "spec", framework: "ai-sdk", name: "Foo Bar", format: "yaml" }],
    ["agents/ai-sdk/a.v2.yaml", { kind: "spec", framework: "ai-sdk", name: "a.v2", format: "yaml" }],
    ["agents/ai-sdk/eval.yaml", { kind: "spec", framework: "ai-sdk", name: "eval", format: "yaml" }],
    [
      "agents/ai-sdk/hello.eval.yaml",
      { kind: "sidecar", framework: "ai-sdk", name: "hello", format: "yaml" },
    ],
    ["agents/ai-sdk/hello.eval.yml", { kind: "sidecar", framework: "ai-sdk", name: "hello", format: "yaml" }],
    [
      "agents/ai-sdk/hello.eval.json",
      { kind: "sidecar", framework: "ai-sdk", name: "hello", format: "json" },
    ],
    [
      "agents/ai-sdk/a.eval.eval.json",
      { kind: "sidecar", framework: "ai-sdk", name: "a.eval", format: "json" },
    ],
  ])("%s", (path, expected) => {
    expect(classifyPath(path)).toEqual(expected);
  });

  test.each([
    "agents/hello.yaml",
    "agents/ai-sdk/deeper/hello.yaml",
    "agents/ai-sdk/README.md",
    "agents/ai-sdk/hello.YAML",
    "agents/ai-sdk/.hidden.yaml",
    "agents/ai-sdk/.eval.yaml",
    "agents/ai-sdk/.yaml",
    "agents/.github/hello.yaml",
    "agents/../hello.yaml",
    "agents//hello.yaml",
    "agents/ai-sdk/",
    "/agents/ai-sdk/hello.yaml",
    "other/ai-sdk/hello.yaml",
    "agents/ai-sdk/a\u0000.yaml",
    "agents/ai-sdk/a\nb.yaml",
    "agents/ai-sdk/a\u202eb.yaml",
    "agents/ai-sdk/a\\b.yaml",
    "agents/ai-sdk/\ud800.yaml",
    `agents/ai-sdk/${"a".repeat(181)}.yaml`,
    `agents/${"ä".repeat(91)}/a.yaml`,
    `agents/${"a".repeat(150)}/${"b".repeat(150)}.yaml`,
    "",
  ])("ignores %j", (path) => {
    expect(classifyPath(path)).toEqual({ kind: "ignored" });
    expect(groupKey(path)).toBeUndefined();
  });

  test("gives safe names whatever the path", () => {
    const part = fc.string({ unit: "binary", maxLength: 80 });
    const path = fc.oneof(
      part,
      fc
        .tuple(part, part, fc.constantFrom(".yaml", ".eval.yml", ".json", ""))
        .map(([a, b, c]) => `agents/${a}/${b}${c}`),
    );
    fc.assert(
      fc.property(path, (text) => {
        const place = classifyPath(text);
        if (place.kind === "ignored") return;
        for (const shown of [place.name, place.framework]) {
          expect(shown).toMatch(/^[^./\\\p{Cc}][^/\\\p{Cc}]*$/u);
          expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(180);
        }
        expect(groupKey(text)?.length).toBeLessThanOrEqual(191);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("groupKey", () => {
  test("holds together what can change each other's meaning", () => {
    const key = groupKey("agents/ai-sdk/hello.yaml");
    expect(groupKey("agents/other/hello.json")).toBe(key);
    expect(groupKey("agents/ai-sdk/hello.eval.yaml")).toBe(key);
    expect(groupKey("agents/ai-sdk/HELLO.yaml")).toBe(key);
    expect(groupKey("agents/ai-sdk/hello .yaml")).toBe(key);
    expect(groupKey("agents/ai-sdk/hello2.yaml")).not.toBe(key);
  });
});
