import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { parseSpec, type SpecInput } from "../../../src/agents/parse-spec.ts";
import { type AgentSpec, AgentSpecBase } from "../../../src/frameworks/index.ts";

const schemas = new Map<string, z.ZodType<AgentSpec>>([
  ["ai-sdk", AgentSpecBase.extend({ framework: z.literal("ai-sdk") })],
  ["graph", AgentSpecBase.extend({ framework: z.literal("graph"), nodes: z.array(z.string()).optional() })],
]);

const valid = "name: hello\nframework: ai-sdk\nmodel: offline/echo\ninstructions: Greet.\n";

const parse = (content: string, path: Partial<SpecInput> = {}) =>
  parseSpec({ content, format: "yaml", ...path }, schemas);

/** The problems as "line:column path|message". */
const problemsOf = (content: string, path?: Partial<SpecInput>) =>
  parse(content, path).problems.map(
    ({ line, column, path: place, message }) => `${line}:${column} ${place}|${message}`,
  );

describe("parseSpec", () => {
  test("gives a valid spec with its defaults", () => {
    expect(parse(valid, { name: "hello", framework: "ai-sdk" })).toEqual({
      spec: {
        name: "hello",
        framework: "ai-sdk",
        model: "offline/echo",
        instructions: "Greet.",
        connections: [],
        labels: [],
        retries: 2,
        parameters: { maxSteps: 20, timeoutSeconds: 300 },
      },
      problems: [],
      handoffs: [],
    });
  });

  test("takes JSON as well, and keys of the framework", () => {
    const content = JSON.stringify({
      name: "a",
      framework: "graph",
      model: "x/y",
      instructions: "z",
      nodes: ["n"],
    });
    expect(parseSpec({ content, format: "json" }, schemas)).toMatchObject({
      spec: { name: "a", nodes: ["n"] },
    });
  });

  test.each([
    [
      "a missing key",
      "name: hello\nframework: ai-sdk\nmodel: offline/echo\n",
      "1:1 instructions|`instructions` is required.",
    ],
    [
      "a key without value",
      `${valid}description:\n`,
      "5:13 description|`description` has no value; it has to be text.",
    ],
    [
      "an empty text",
      valid.replace("Greet.", "''"),
      "4:15 instructions|`instructions` has to have at least 1 character.",
    ],
    [
      "a mistyped key",
      `${valid}lables: []\n`,
      "5:1 lables|`lables` is not a key of a spec; did you mean `labels`?",
    ],
    ["an unknown key", `${valid}colour: red\n`, "5:1 colour|`colour` is not a key of a spec."],
    ["a key of another framework", `${valid}nodes: []\n`, "5:1 nodes|`nodes` is not a key of a spec."],
    [
      "an unknown key below",
      `${valid}parameters:\n  maxStep: 3\n`,
      "6:3 parameters.maxStep|`maxStep` is not a key of `parameters`; did you mean `maxSteps`?",
    ],
    [
      "a number for text",
      valid.replace("Greet.", "12"),
      "4:15 instructions|`instructions` has to be text, not the number 12; put it in quotes.",
    ],
    ["a text for a list", `${valid}labels: x\n`, "5:9 labels|`labels` has to be a list, not text."],
    [
      "a fraction",
      `${valid}retries: 1.5\n`,
      "5:10 retries|`retries` has to be a whole number, not the number 1.5.",
    ],
    ["a number too large", `${valid}retries: 9\n`, "5:10 retries|`retries` has to be at most 5."],
    [
      "a number too small",
      `${valid}budget: {usdPerRun: 0}\n`,
      "5:21 budget.usdPerRun|`budget.usdPerRun` has to be more than 0.",
    ],
    ["infinity", `${valid}budget: {usdPerRun: .inf}\n`, /^5:21 budget\.usdPerRun\|/],
    ["a bad slug", `${valid}connections:\n  - GOOD\n  - bad\n`, /^7:5 connections\[1\]\|Use a tool slug/],
    ["a slug twice", `${valid}connections: [A, A]\n`, /^5:14 connections\|Name each tool once/],
    ["a bad model", valid.replace("offline/echo", "gpt"), /^3:8 model\|Write the model as provider\/model/],
    ["a bad name", valid.replace("hello", "Hello"), /^1:7 name\|Use 1 to 63 lower-case letters/],
    ["no mapping", "- a\n", "1:1 |A spec has to be a mapping of keys to values, not a list."],
    ["null", "~\n", "1:1 |A spec has no value; it has to be a mapping of keys to values."],
    [
      "an unknown framework",
      valid.replace("ai-sdk", "ai-sdx"),
      "2:1 framework|There is no framework `ai-sdx`; use `ai-sdk` or `graph`.",
    ],
    [
      "a framework that is no text",
      valid.replace("ai-sdk", "1"),
      "2:12 framework|`framework` has to be text, not the number 1; put it in quotes.",
    ],
    ["no framework", valid.replace("framework: ai-sdk\n", ""), "1:1 framework|`framework` is required."],
    ["a syntax error", `${valid}x: "`, /^5:5 \|A text in quotes is still open/],
  ])("tells of %s", (_, content, expected) => {
    const problems = problemsOf(content);
    expect(problems).toEqual([typeof expected === "string" ? expected : expect.stringMatching(expected)]);
  });

  test("tells all problems at once, in the order of the file", () => {
    expect(
      problemsOf("retries: x\nmodel: y\nname: Z\nframework: ai-sdk\n").map((line) => line.split("|")[0]),
    ).toEqual(["1:1 instructions", "1:10 retries", "2:8 model", "3:7 name"]);
  });

  test("does not guess which keys an unknown framework has, but sees mistyped ones", () => {
    const content = valid.replace("ai-sdk", "nowhere").replace("model:", "modle:");
    expect(problemsOf(`${content}special: 1\n`).map((line) => line.split("|")[0])).toEqual([
      "1:1 model",
      "2:1 framework",
      "3:1 modle",
    ]);
  });

  test("the file's place has to agree with what it says", () => {
    expect(problemsOf(valid, { name: "other", framework: "graph" })).toEqual([
      "1:1 name|`name` is `hello` but the file is called `other`; make them equal.",
      "2:1 framework|`framework` is `ai-sdk` but the file lies in `agents/graph`; make them equal.",
    ]);
    expect(problemsOf(valid, { name: "Hello", framework: "ai-sdk" })[0]).toMatch(
      /^1:1 \|No agent can be called `Hello`/,
    );
  });

  test("a broken one is named by its path, else by what can be read, else not at all", () => {
    const broken = `${valid}x: 1\n`;
    expect(parse(broken, { name: "a", framework: "b" })).toMatchObject({ name: "a", framework: "b" });
    expect(parse(broken)).toMatchObject({ spec: undefined, name: "hello", framework: "ai-sdk" });
    expect(parse(`${broken}: [`)).toMatchObject({ name: "", framework: "" });
    expect(parse(`name: ${"a".repeat(192)}\nframework: [x]\n`)).toMatchObject({ name: "", framework: "" });
  });

  test("shows no more problems than people read", () => {
    const unknown = Array.from({ length: 200 }, (_, at) => `key${at}: 1\n`).join("");
    const { problems } = parse(valid + unknown);
    expect(problems).toHaveLength(51);
    expect(problems.at(-1)?.message).toBe("150 more problems are not shown.");
  });

  test("shortens and cleans what it repeats of the file", () => {
    const [problem] = parse(`${valid}"${"k".repeat(1_000)}": 1\n`).problems;
    expect(problem?.message.length).toBeLessThan(120);
    expect(problem?.path.length).toBeLessThanOrEqual(201);
    const [other] = parse(`${valid}"a\\nb\u202e": 1\n`).problems;
    expect(other?.message).toBe("`a\ufffdb\ufffd` is not a key of a spec.");
    expect(other?.path).toBe('["a\ufffdb\ufffd"]');
  });
});

describe("any spec", () => {
  const text = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    .filter((value) => !/\p{Cc}/u.test(value));
  const spec = fc.record(
    {
      name: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/),
      framework: fc.constantFrom("ai-sdk", "graph"),
      model: fc.stringMatching(/^[a-z]{1,8}\/[a-z0-9:-]{1,12}$/),
      instructions: text,
      description: text,
      connections: fc.uniqueArray(fc.stringMatching(/^[A-Z][A-Z0-9_]{0,10}$/), { maxLength: 4 }),
      labels: fc.array(fc.stringMatching(/^[\w.-]{1,10}$/), { maxLength: 4 }),
      retries: fc.integer({ min: 0, max: 5 }),
      parameters: fc.record(
        { maxSteps: fc.integer({ min: 1, max: 50 }), temperature: fc.constantFrom(0, 0.5, 2) },
        { requiredKeys: [] },
      ),
      budget: fc.record({ usdPerRun: fc.constantFrom(0.01, 5) }, { requiredKeys: [] }),
    },
    { requiredKeys: ["name", "framework", "model", "instructions"] },
  );

  test("that is valid stays valid in every way to write it", () => {
    fc.assert(
      fc.property(spec, (original) => {
        const { name, framework } = original;
        const expected = schemas.get(framework)?.parse(original);
        for (const [content, format] of [
          [JSON.stringify(original), "json"],
          [JSON.stringify(original, null, 2), "yaml"],
          [stringify(original, { aliasDuplicateObjects: false }), "yaml"],
          [stringify(original, { aliasDuplicateObjects: false }).replaceAll("\n", "\r\n"), "yaml"],
        ] as const) {
          const parsed = parseSpec({ content, format, name, framework }, schemas);
          expect(parsed.problems).toEqual([]);
          expect(parsed.spec).toEqual(expected);
        }
      }),
    );
  });

  test("that was damaged is valid or has located problems", () => {
    fc.assert(
      fc.property(
        spec,
        fc.nat(),
        fc.nat(5),
        fc.string({ unit: "binary", maxLength: 5 }),
        (original, seed, removed, put) => {
          const whole = stringify(original);
          const at = seed % whole.length;
          const parsed = parse(whole.slice(0, at) + put + whole.slice(at + removed));
          if (parsed.spec) return;
          expect(parsed.problems.length).toBeGreaterThan(0);
          for (const { message, line, column } of parsed.problems) {
            expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
            expect(message).not.toMatch(/\p{Cc}|Invalid input|undefined/u);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
