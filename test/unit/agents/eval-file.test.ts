import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEvalFile } from "../../../src/agents/eval-file.ts";

const problemsOf = (content: string) =>
  parseEvalFile(content, "yaml").problems.map(
    ({ line, column, path, message }) => `${line}:${column} ${path}|${message}`,
  );

const oneCase = (rest: string) => `cases:\n  - name: a\n    input: b\n    ${rest}\n`;

describe("parseEvalFile", () => {
  test("reads every kind of check", () => {
    const content = {
      cases: [
        {
          name: "all",
          input: "",
          assert: { contains: "a", not_contains: ["b", "c"], regex: "^a\\d+$", equals: "", max_chars: 0 },
          judge: { rubric: "kind" },
        },
        {
          name: "beyond the five",
          input: "x",
          repeats: 10,
          minPass: 9,
          assert: {
            json_schema: { type: "object", properties: { a: { type: "string" } } },
            tool_called: ["A_TOOL", "B"],
            tool_not_called: "C",
            max_cost_usd: 0.5,
            max_duration_ms: 1,
          },
        },
        { name: "judged", input: "x", judge: { rubric: "short" } },
      ],
    };
    expect(parseEvalFile(JSON.stringify(content), "json")).toEqual({ evalFile: content, problems: [] });
  });

  test.each([
    ["nothing", "", "1:1 |The file is empty."],
    ["a list", "- a\n", "1:1 |An eval file has to be a mapping of keys to values, not a list."],
    ["no cases", "cases: []\n", "1:8 cases|`cases` has to have at least 1 entry."],
    [
      "an unknown key",
      `repeats: 2\n${oneCase("judge: {rubric: x}")}`,
      "1:1 repeats|`repeats` is not a key of an eval file.",
    ],
    [
      "a case without checks",
      oneCase("# nothing"),
      "2:5 cases[0]|The case checks nothing; give it `assert` or `judge`.",
    ],
    [
      "empty checks",
      oneCase("assert: {}"),
      "4:13 cases[0].assert|`assert` is empty; write at least one check.",
    ],
    [
      "checks without value",
      oneCase("assert:"),
      /^4:12 cases\[0\]\.assert\|`cases\[0\]\.assert` has no value/,
    ],
    [
      "an unknown check",
      oneCase("assert: {equal: x}"),
      "4:14 cases[0].assert.equal|`equal` is not a key of `cases[0].assert`; did you mean `equals`?",
    ],
    [
      "a number to contain",
      oneCase("assert: {contains: 1}"),
      "4:24 cases[0].assert.contains|Write one text or a list of texts.",
    ],
    [
      "an empty text to contain",
      oneCase("assert: {contains: ['']}"),
      /^4:25 cases\[0\]\.assert\.contains\[0\]\|An empty text/,
    ],
    ["an empty list", oneCase("assert: {not_contains: []}"), /^4:28 cases\[0\]\.assert\.not_contains\|/],
    [
      "a bad pattern",
      oneCase("assert: {regex: '('}"),
      /^4:21 cases\[0\]\.assert\.regex\|This is not a JavaScript regular expression \(Unterminated group\)/,
    ],
    ["a pattern with flags of another language", oneCase("assert: {regex: '(?<!x'}"), /^4:21 /],
    ["a long pattern", oneCase(`assert: {regex: ${"a".repeat(1_001)}}`), /^4:21 .*at most 1,000 characters/],
    ["a negative length", oneCase("assert: {max_chars: -1}"), /^4:25 .*at least 0/],
    ["a tool that is no slug", oneCase("assert: {tool_called: [ok]}"), /^4:28 .*SCREAMING_SNAKE_CASE/],
    ["tools that are no list", oneCase("assert: {tool_not_called: 1}"), /one tool slug or a list/],
    ["a schema that is none", oneCase("assert: {json_schema: {type: nonsense}}"), /^4:27 .*JSON Schema/],
    ["a schema that is a text", oneCase("assert: {json_schema: object}"), /^4:27 .*mapping/],
    ["a negative cost", oneCase("assert: {max_cost_usd: -1}"), /^4:28 .*at least 0/],
    ["no time at all", oneCase("assert: {max_duration_ms: 0}"), /^4:31 .*at least 1/],
    ["too many runs", oneCase("repeats: 11\n    judge: {rubric: x}"), /^4:14 .*at most 10/],
    [
      "more that pass than are run",
      oneCase("repeats: 2\n    minPass: 3\n    judge: {rubric: x}"),
      "5:14 cases[0].minPass|More runs would have to pass than there are; raise `repeats` or lower this.",
    ],
    ["passes without repeats", oneCase("minPass: 2\n    judge: {rubric: x}"), /^4:14 cases\[0\]\.minPass/],
    ["a broken length", oneCase("assert: {max_chars: 1.5}"), /^4:25 .*whole number/],
    [
      "a judge without rubric",
      oneCase("judge: {}"),
      "4:12 cases[0].judge.rubric|`cases[0].judge.rubric` is required.",
    ],
    [
      "no name",
      "cases:\n  - input: b\n    judge: {rubric: x}\n",
      "2:5 cases[0].name|`cases[0].name` is required.",
    ],
    [
      "no input",
      "cases:\n  - name: b\n    judge: {rubric: x}\n",
      "2:5 cases[0].input|`cases[0].input` is required.",
    ],
    ["an alias", oneCase("assert: *x"), /^4:13 \|Aliases/],
  ])("tells of %s", (_, content, expected) => {
    expect(problemsOf(content)).toEqual([
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    ]);
  });

  test("20 cases are allowed, each with a name of its own", () => {
    const cases = (count: number) =>
      JSON.stringify({
        cases: Array.from({ length: count }, (_, at) => ({
          name: `${at}`,
          input: "",
          judge: { rubric: "x" },
        })),
      });
    expect(parseEvalFile(cases(20), "json").problems).toEqual([]);
    expect(parseEvalFile(cases(21), "json").problems).toMatchObject([
      { path: "cases", message: "`cases` has to have at most 20 entries." },
    ]);
    const twins = "cases:\n  - {name: a, input: x, judge: {rubric: y}}\n".concat(
      "  - {name: a, input: x, judge: {rubric: y}}\n",
    );
    expect(problemsOf(twins)).toEqual([
      "3:12 cases[1].name|Case 1 has the same name; give each case a name of its own.",
    ]);
  });

  test("only reads a pattern that would run for ever", () => {
    expect(problemsOf(oneCase("assert: {regex: '(?:(?:(?:a?){100}){100}){100}(a+)+$'}"))).toEqual([]);
  });

  test("any content is an eval file or has problems", () => {
    const content = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json().map((value) => `{"cases": [${value}]}`),
      fc
        .dictionary(fc.constantFrom("contains", "regex", "equals", "max_chars", "x"), fc.jsonValue())
        .map((assert) => oneCase(`assert: ${JSON.stringify(assert)}`)),
    );
    fc.assert(
      fc.property(content, (text) => {
        const { evalFile, problems } = parseEvalFile(text, "yaml");
        expect(problems.length === 0).toBe(evalFile !== undefined);
        for (const { line, column } of problems) expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });
});
