import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  type Assertions,
  type BoundedChecks,
  checkAssertions,
  type Evidence,
} from "../../../src/evals/assertions.ts";
import { evaluateRun } from "../../../src/evals/evaluate.ts";
import { readOpinion } from "../../../src/evals/judge.ts";
import { caseVerdict, countPassed } from "../../../src/evals/tally.ts";

/** Without threads: what takes long is tested with the pool. */
const bounded: BoundedChecks = {
  regex: async (pattern, text) =>
    new RegExp(pattern).test(text) ? { passed: true } : { passed: false, reason: "No match." },
  jsonSchema: async () => ({ passed: false, reason: "No schema." }),
};
const evidence = (output: string, more: Partial<Evidence> = {}): Evidence => ({
  output,
  toolCalls: [],
  costUsd: 0,
  durationMs: 10,
  ...more,
});
const verdicts = async (assertions: Assertions, given: Evidence) =>
  (await checkAssertions(assertions, given, bounded)).map(({ kind, passed }) => [kind, passed]);
const holds = async (assertions: Assertions, output: string) =>
  (await checkAssertions(assertions, evidence(output), bounded)).every(({ passed }) => passed);

describe("assertions", () => {
  test.each<[Assertions, string, boolean]>([
    [{ contains: "HELLO" }, "well, hello you", true],
    [{ contains: ["a", "B"] }, "bA", true],
    [{ contains: ["a", "c"] }, "ab", false],
    [{ contains: "ΣΑΣ" }, "σας", true],
    [{ contains: "δρόμος" }, "Ο ΔΡΌΜΟΣΑ", true],
    [{ not_contains: "Sorry" }, "I am sORRy", false],
    [{ not_contains: ["x", "y"] }, "abc", true],
    [{ not_contains: ["x", "b"] }, "abc", false],
    [{ regex: "^b" }, "ab", false],
    [{ regex: "b" }, "ab", true],
    [{ regex: "B" }, "ab", false],
    [{ equals: "a" }, " \n a\t\u00a0", true],
    [{ equals: "A" }, "a", false],
    [{ equals: " a" }, " a", false],
    [{ equals: "" }, "  ", true],
    [{ max_chars: 3 }, "abc", true],
    [{ max_chars: 3 }, "ab c", false],
    [{ max_chars: 1 }, "a ", false],
    [{ max_chars: 1 }, "😀", false],
    [{ max_chars: 2 }, "😀", true],
    [{ contains: "a", max_chars: 0 }, "a", false],
  ])("%j of %j: %s", async (assertions, output, expected) => {
    expect(await holds(assertions, output)).toBe(expected);
  });

  it("of tools, cost and time", async () => {
    const given = evidence("x", { toolCalls: ["A_B", "C", "C"], costUsd: 0.02, durationMs: 900 });
    const limits = { max_cost_usd: 0.02, max_duration_ms: 899 };
    expect(await verdicts({ tool_called: ["A_B", "C"], tool_not_called: "D", ...limits }, given)).toEqual([
      ["tool_called", true],
      ["tool_not_called", true],
      ["max_cost_usd", true],
      ["max_duration_ms", false],
    ]);
    const [unknown] = await checkAssertions({ max_cost_usd: 9 }, { ...given, costUsd: null }, bounded);
    expect(unknown).toMatchObject({ passed: false, detail: expect.stringContaining("not known") });
    expect(await verdicts({ tool_called: "D", tool_not_called: ["C"] }, given)).toEqual([
      ["tool_called", false],
      ["tool_not_called", false],
    ]);
  });

  it("every part of an output is contained in it, in any case", () => {
    const output = fc.string({
      unit: fc.constantFrom("a", "B", "ς", "Σ", " ", "\n", "é", "😀"),
      minLength: 1,
    });
    return fc.assert(
      fc.asyncProperty(output, fc.nat(), fc.nat(), fc.boolean(), async (text, a, b, upper) => {
        const start = a % text.length;
        const part = text.slice(start, start + 1 + (b % (text.length - start)));
        const shown = upper ? part.toUpperCase() : part.toLowerCase();
        expect(await holds({ contains: shown }, text)).toBe(true);
        expect(await holds({ not_contains: ["§", shown] }, text)).toBe(false);
        expect(await holds({ contains: [shown, "§"] }, text)).toBe(false);
      }),
    );
  });

  it("length, equality and the sum of checks follow their definitions", () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.nat(30), fc.string(), async (text, max, other) => {
        expect(await holds({ max_chars: max }, text)).toBe(text.length <= max);
        expect(await holds({ equals: other }, text)).toBe(text.trim() === other);
        expect(await holds({ equals: text.trim() }, text)).toBe(true);
        const both = (await holds({ max_chars: max }, text)) && (await holds({ equals: other }, text));
        expect(await holds({ max_chars: max, equals: other }, text)).toBe(both);
      }),
    ));

  it("say of long texts only the beginning", async () => {
    const [result] = await checkAssertions({ equals: "x" }, evidence("y".repeat(100_000)), bounded);
    expect(result?.detail.length).toBeLessThan(300);
  });
});

describe("a run of a case", () => {
  const evalCase = { name: "a", input: "b", assert: { max_chars: 5 } };
  it.each([
    ["succeeded with an output", { failure: undefined, evidence: evidence("abc") }, true, ["max_chars"]],
    ["gave no output", { failure: undefined, evidence: evidence("") }, false, ["output"]],
    ["failed", { failure: "It timed out." }, false, ["run"]],
  ] as const)("that %s", async (_what, run, passed, kinds) => {
    const result = await evaluateRun(evalCase, run, bounded);
    expect([result.passed, result.assertions.map(({ kind }) => kind)]).toEqual([passed, kinds]);
  });

  it("that is only judged passes with any output", async () => {
    const judged = { name: "a", input: "b", judge: { rubric: "kind" } };
    const run = { failure: undefined, evidence: evidence("x") };
    expect(await evaluateRun(judged, run, bounded)).toEqual({ passed: true, assertions: [] });
    expect((await evaluateRun(judged, { failure: "No." }, bounded)).passed).toBe(false);
  });
});

describe("a case with several runs", () => {
  const runs = (...passed: (number | null)[]) => passed.map((each) => ({ case_index: 0, passed: each }));
  const evalCase = { name: "a", input: "b", repeats: 3, minPass: 2 };
  it("passes with as many as it asks for, once all are in", () => {
    expect(caseVerdict(evalCase, runs(1, 1, null))).toBeNull();
    expect(caseVerdict(evalCase, runs(1, 0, 1))).toBe(true);
    expect(caseVerdict(evalCase, runs(1, 0, 0))).toBe(false);
    expect(caseVerdict({ ...evalCase, minPass: undefined }, runs(1, 1, 0))).toBe(false);
    expect(caseVerdict({ name: "a", input: "b" }, runs(1))).toBe(true);
  });

  it("counts once", () => {
    const other = { name: "b", input: "" };
    expect(countPassed([evalCase, other], [...runs(1, 1, 1), { case_index: 1, passed: 0 }])).toBe(1);
    expect(countPassed([evalCase, other], [...runs(1, 0, 0), { case_index: 1, passed: 1 }])).toBe(1);
  });
});

test.each([
  ["PASS", true, ""],
  ["FAIL\nIt promises a date.", false, "It promises a date."],
  ["**PASS** – calm and short", true, "calm and short"],
  ['"FAIL": rude', false, "rude"],
  ["\n\nPASS", true, ""],
  ["PASSED", null, undefined],
  ["pass", null, undefined],
  ["I would say PASS", null, undefined],
  ["FAILURE", null, undefined],
  ["", null, undefined],
])("the judge's answer %j is read as %s", (answer, passed, reason) => {
  const opinion = readOpinion(answer);
  expect(opinion.passed).toBe(passed);
  if (reason !== undefined) expect(opinion.reason).toBe(reason);
  else expect(opinion.reason).toContain("neither");
});
