import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DocumentFormat, maxDocumentBytes, parseDocument } from "../../../src/agents/parse-document.ts";

/** The value of a document that has to be valid. */
function parsedValue(content: string | Uint8Array, format: DocumentFormat = "yaml"): unknown {
  const document = parseDocument(content, format);
  if (!document.ok) throw new Error(`Unexpected: ${JSON.stringify(document.problems)}`);
  return document.value;
}

/** The problems of a document that has to be invalid, as "line:column path message". */
function problemsOf(content: string | Uint8Array, format: DocumentFormat = "yaml"): string[] {
  const document = parseDocument(content, format);
  if (document.ok) throw new Error(`Unexpected: ${JSON.stringify(document.value).slice(0, 200)}`);
  return document.problems.map(({ line, column, path, message }) => `${line}:${column} ${path}|${message}`);
}

describe("YAML", () => {
  test("is version 1.2 with the core schema", () => {
    expect(
      parsedValue("a: no\nb: 0o17\nc: 017\nd: 2024-01-01\ne: ~\nf: 1e3\ng: [x, {y: z}]\n<<: {q: 1}\n"),
    ).toEqual({
      a: "no",
      b: 15,
      c: 17,
      d: "2024-01-01",
      e: null,
      f: 1000,
      g: ["x", { y: "z" }],
      "<<": { q: 1 },
    });
  });

  test("takes a byte order mark, CRLF, a document start and comments", () => {
    expect(parsedValue("\ufeff# hi\r\n---\r\na: |\r\n  x\r\n  y\r\n...\r\n# end\r\n")).toEqual({
      a: "x\ny\n",
    });
    expect(parsedValue(Buffer.from("\ufeffa: ä\n"))).toEqual({ a: "ä" });
  });

  test.each([
    ["an empty file", "", /^1:1 \|The file is empty/],
    ["only comments", "# x\n\n", /^1:1 \|The file is empty/],
    ["an anchor", "a: 1\nb: &x 2\n", /^2:4 \|Anchors/],
    ["an alias to nowhere", "a: *x\n", /^1:4 \|Aliases/],
    ["a merge of an alias", "a: 1\n<<: *x\n", /^2:5 \|Aliases/],
    ["a duplicate key", "a: 1\nb:\n  c: 1\n  c: 2\n", /^4:3 b\.c\|The key `c` is there twice/],
    ["two documents", "a: 1\n---\nb: 1\n", /^2:1 \|The file holds several documents/],
    ["a function tag", "a: !!js/function 'x'\n", /^1:4 \|Tags/],
    ["a core tag", "a: !!str 1\n", /^1:4 \|Tags/],
    ["a version directive", "%YAML 1.1\n---\na: yes\n", /^1:1 \|Directives/],
    ["a tab", "a:\n\tb: 1\n", /^2:1 \|YAML is indented with spaces/],
    ["two colons", "a: b: c\n", /^1:4 \|There is a second `: `/],
    ["an open quote", 'a: 1\nb: "x\n', /^3:1 \|A text in quotes is still open/],
    ["NUL", "a: 1\nb: \u0000\n", /^2:4 \|The file has the control character U\+0000/],
    ["an escaped bell", 'a: "x\\ay"\n', /^1:4 a\|This text has the control character U\+0007/],
    ["an escaped control character in a key", '"x\\ay": 1\n', /^1:1 .*\|This text has the control character/],
    ["a lone surrogate", 'a: ["\\ud800"]\n', /^1:5 a\[0\]\|This text has half/],
    ["a number as key", "1: a\n", /^1:1 \|A key has to be text. Put quotes around `1`/],
    ["a list as key", "? [a]\n: b\n", /^1:3 \|A key has to be text/],
    ["a prototype", "a: {__proto__: {b: 1}}\n", /^1:5 a\.__proto__\|`__proto__` cannot be a key/],
    ["a stray end", "]\n", /^1:1 \|This is not valid YAML/],
  ])("refuses %s", (_, text, expected) => {
    expect(problemsOf(text)[0]).toMatch(expected);
  });

  test("nests 64 levels deep and no deeper", () => {
    expect(parsedValue(`${"[".repeat(64)}${"]".repeat(64)}`)).toBeInstanceOf(Array);
    expect(problemsOf(`${"[".repeat(65)}${"]".repeat(65)}`)).toEqual([
      expect.stringMatching(/^1:\d+ \|Values are nested/),
    ]);
    expect(parsedValue(`${"- ".repeat(63)}[]`)).toBeInstanceOf(Array);
    expect(problemsOf(`${"- ".repeat(64)}[]`)).toEqual([expect.stringMatching(/^1:\d+ \|Values are nested/)]);
  });
});

describe("JSON", () => {
  test.each([
    ["a trailing comma", '{"a": 1,}', /^1:9 \|Remove the comma/],
    ["a comment", "{\n// x\n}", /^2:1 \|A key in double quotes/],
    ["a comment as value", '{"a": // x\n1}', /^1:7 \|JSON has no comments/],
    ["single quotes", "{'a': 1}", /^1:2 \|A key in double quotes/],
    ["YAML", "a: 1", /^1:1 \|A JSON value/],
    ["nothing", " \n", /^1:1 \|The file is empty/],
    ["more after the end", "{} {}", /^1:4 \|There is more text/],
    ["an end too early", '{"a": ', /^1:7 \|The file ends before/],
    ["no colon", '{"a" 1}', /^1:6 \|A colon/],
    ["no comma", '["a" 1]', /^1:6 \|A comma or `\]`/],
    ["a leading zero", "[01]", /^1:3 \|A comma/],
    ["an open string", '["abc', /^1:2 \|The text that begins here/],
    ["a raw line feed", '["a\nb"]', /^1:4 \|A line break or tab/],
    ["a bad escape", '["ab\\x"]', /^1:5 \|JSON does not know this escape/],
    ["a short escape", '["\\u12"]', /^1:3 \|JSON does not know this escape/],
    ["NaN", "[NaN]", /^1:2 \|A JSON value/],
    ["a duplicate key", '{"a": 1,\n "b": {"c": 1, "\\u0063": 2}}', /^2:16 b\.c\|The key `c` is there twice/],
    ["a prototype", '{"__proto__": {"b": 1}}', /^1:2 __proto__\|`__proto__` cannot/],
    ["an escaped NUL", '["\\u0000"]', /^1:2 \[0\]\|This text has the control character U\+0000/],
    ["a lone surrogate", '["\\udc00"]', /^1:2 \[0\]\|This text has half/],
    ["65 levels", `${"[".repeat(65)}${"]".repeat(65)}`, /^1:65 \|Values are nested/],
  ])("refuses %s", (_, text, expected) => {
    expect(problemsOf(text, "json")[0]).toMatch(expected);
  });

  test("agrees with JSON.parse on every document", () => {
    const plain = fc.json({ maxDepth: 5 });
    const mutated = fc
      .tuple(plain, fc.nat(), fc.nat(3), fc.constantFrom(...'{}[],:"\\-01eE.tn \n\tu/'))
      .map(([text, at, removed, put]) => {
        const index = at % (text.length + 1);
        return text.slice(0, index) + put + text.slice(index + removed);
      });
    fc.assert(
      fc.property(fc.oneof(plain, mutated), (text) => {
        const document = parseDocument(text, "json");
        const expected = tryJson(text);
        if (document.ok) expect(document.value).toEqual(expected);
        // What is stricter here than in JSON.parse is said in words of its own.
        else if (expected !== undefined)
          expect(document.problems[0]?.message).toMatch(/twice|control character|surrogate|__proto__|empty/);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("bytes", () => {
  test("over 128 KiB are refused, at the limit they are read", () => {
    const atLimit = `a: ${"x".repeat(maxDocumentBytes - 3)}`;
    expect(parsedValue(Buffer.from(atLimit))).toEqual({ a: "x".repeat(maxDocumentBytes - 3) });
    expect(problemsOf(`${atLimit}x`)).toEqual([expect.stringMatching(/^1:1 \|The file is over 128 KiB/)]);
    expect(problemsOf("ä".repeat(maxDocumentBytes / 2 + 1))).toHaveLength(1);
    expect(problemsOf(new Uint8Array(50_000_000))).toHaveLength(1);
  });

  test("that are no UTF-8 are located", () => {
    expect(problemsOf(Buffer.concat([Buffer.from("a: 1\nb: "), Buffer.of(0xff, 0x0a)]))).toEqual([
      expect.stringMatching(/^2:4 \|The file is not UTF-8/),
    ]);
    expect(problemsOf(Buffer.from("a: 1", "utf16le"))).toHaveLength(1);
  });

  test("nothing reaches the prototype of objects", () => {
    parseDocument("__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n", "yaml");
    parseDocument('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}', "json");
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

test("locate finds values, keys and the nearest parent of what is missing", () => {
  const yaml = parseDocument("a: 1\nb:\n  - c: x\n    d: y\n", "yaml");
  const json = parseDocument('{"a": 1,\n"b": [\n{"c": "x", "d": "y"}]}', "json");
  if (!yaml.ok || !json.ok) throw new Error("Both are valid.");
  expect(yaml.locate(["b", 0, "d"])).toEqual({ line: 4, column: 8 });
  expect(yaml.locate(["b", 0, "d"], "key")).toEqual({ line: 4, column: 5 });
  expect(yaml.locate(["b", 0, "nothing", "below"], "key")).toEqual({ line: 3, column: 5 });
  expect(yaml.locate(["b", 7])).toEqual({ line: 3, column: 3 });
  expect(yaml.locate([])).toEqual({ line: 1, column: 1 });
  expect(json.locate(["b", 0, "d"])).toEqual({ line: 3, column: 17 });
  expect(json.locate(["b", 0, "d"], "key")).toEqual({ line: 3, column: 12 });
  expect(json.locate(["nothing"])).toEqual({ line: 1, column: 1 });
});

describe("hostile documents", () => {
  const size = maxDocumentBytes - 16;
  const filled = (unit: string) => unit.repeat(Math.floor(size / unit.length));

  test.each([
    ["flow lists", filled("[")],
    ["flow maps", filled("{")],
    ["closed flow maps", `${"{a: ".repeat(20_000)}${"}".repeat(20_000)}`],
    ["lists in one line", filled("- ")],
    ["explicit keys", filled("? ")],
    ["a staircase", Array.from({ length: 480 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
    ["a flat list", filled("- a\n")],
    ["a flat flow list", `[${filled("a,")}]`],
    ["commas", `[${filled(",")}]`],
    ["colons", filled("a: ")],
    ["anchors", filled("&a ")],
    ["aliases", filled("*a ")],
    ["quotes", filled('"')],
    ["documents", filled("---\n")],
    ["tabs", filled("\t")],
    ["empty entries", filled("-\n")],
  ])("%s are refused", (_, text) => {
    for (const format of ["yaml", "json"] as const)
      expect(problemsOf(text, format).length).toBeLessThanOrEqual(51);
  });

  test("long texts and many comments are no reason to refuse", () => {
    expect(parsedValue(`a: |\n${"  text\n".repeat(15_000)}`)).toMatchObject({
      a: expect.stringContaining("text\n"),
    });
    expect(parsedValue(`a: "${"\\n".repeat(60_000)}"`)).toEqual({ a: "\n".repeat(60_000) });
    expect(parsedValue(filled("|\n"))).toMatch(/^[|\n]+$/);
    expect(parsedValue(filled("-"))).toMatch(/^-+$/);
    expect(parsedValue(`a: x\n${"# comment\n".repeat(5_000)}`)).toEqual({ a: "x" });
  });
});

describe("any input", () => {
  const seeds = [
    "name: a\nlist:\n  - x: |\n      text\n    y: 'it''s'\n  - [1, {z: \"\\u00e4\"}]\n# end\n",
    '{"a": [1, {"b": "\\n"}], "c": null}\n',
  ];
  const tricky = fc.constantFrom(
    "&a ",
    "*a",
    "!!x ",
    "\t",
    "- ",
    "? ",
    ": ",
    "|\n",
    ">-\n",
    "---\n",
    "...\n",
    "%Y\n",
    "\u0000",
    "\ufeff",
    "\ud800",
    "'",
    '"',
    "{",
    "]",
    "#",
    "\r",
    "\\",
    "<<",
    "__proto__: ",
  );
  const mutated = fc
    .tuple(
      fc.constantFrom(...seeds),
      fc.array(
        fc.tuple(fc.nat(80), fc.nat(4), fc.oneof(tricky, fc.string({ unit: "binary", maxLength: 4 }))),
        { maxLength: 6 },
      ),
    )
    .map(([seed, edits]) =>
      edits.reduce((text, [at, removed, put]) => text.slice(0, at) + put + text.slice(at + removed), seed),
    );
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: "binary", maxLength: 100 }),
    mutated,
    fc.array(tricky, { maxLength: 40 }).map((parts) => parts.join("")),
  );

  test("is a value or problems inside the text, never a throw", () => {
    fc.assert(
      fc.property(content, fc.constantFrom("yaml" as const, "json" as const), (input, format) => {
        const document = parseDocument(input, format);
        if (document.ok) {
          expect(isPlain(document.value)).toBe(true);
          return;
        }
        const lines = (typeof input === "string" ? input : Buffer.from(input).toString("utf8")).split("\n");
        expect(document.problems.length).toBeGreaterThan(0);
        for (const { line, column, message } of document.problems) {
          expect(message).not.toMatch(/could not be read as|[\p{Cc}\p{Cs}]/u);
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
        }
      }),
      { numRuns: 4_000 },
    );
  });

  test("written as JSON is the same value in both formats", () => {
    const text = fc.string({ unit: fc.constantFrom(..."aä😀 :#-&*!|>'\"\\%@`,[]{}?~0\n\t") });
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        tie("list"),
        tie("map"),
      ),
      list: fc.array(tie("any"), { maxLength: 5 }),
      map: fc.dictionary(text, tie("any"), { maxKeys: 5 }),
    })).map;
    fc.assert(
      fc.property(value, (original) => {
        const json = JSON.stringify(original, null, 1);
        expect(parsedValue(json, "json")).toEqual(JSON.parse(json));
        expect(parsedValue(json, "yaml")).toEqual(JSON.parse(json));
      }),
    );
  });
});

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null)
    return ["number", "boolean", "object"].includes(typeof value);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isPlain);
}
