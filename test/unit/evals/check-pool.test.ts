import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createCheckPool } from "../../../src/evals/check-pool.ts";

const pool = createCheckPool();
afterAll(pool.close);

const stopped = { passed: false, reason: expect.stringContaining("over 250 ms") };

describe("checks with a time limit", () => {
  it.each([
    ["a", "cat", true],
    ["^a", "cat", false],
    ["A", "cat", false],
    ["^b$", "a\nb\nc", false],
    ["a.b", "a\nb", false],
    ["^$", "", true],
    ["(?<=x)y", "xy", true],
    ["\\u{61}", "a", false],
    ["(?i:A)b", "ab", true],
  ])("%s matches %j: %s", async (pattern, text, passed) => {
    expect((await pool.regex(pattern, text)).passed).toBe(passed);
  });

  it.each([
    ["(a+)+$", `${"a".repeat(40)}b`],
    ["^(\\w+\\s?)*$", `${"word ".repeat(12)}!`],
    ["(x+x+)+y", "x".repeat(60)],
    ["(.*)(.*)(.*)(.*)(.*)(.*)z", "a".repeat(5_000)],
  ])("%s is stopped, and others go on meanwhile", async (pattern, text) => {
    const results = await Promise.all([
      pool.regex(pattern, text),
      pool.regex("a", "cat"),
      pool.regex("b", "cat"),
    ]);
    expect(results).toMatchObject([stopped, { passed: true }, { passed: false }]);
  });

  it("many that would never end are all stopped, and the pool goes on", async () => {
    const hopeless = Array.from({ length: 5 }, () => pool.regex("(a+)+$", `${"a".repeat(40)}b`));
    expect(await Promise.all(hopeless)).toEqual(Array.from({ length: 5 }, () => stopped));
    expect(await pool.regex("a", "a")).toEqual({ passed: true });
  });

  it("an answer that came while the process was busy counts", async () => {
    const waiting = pool.regex("a", "cat");
    const until = performance.now() + 600;
    while (performance.now() < until);
    expect(await waiting).toEqual({ passed: true });
  });

  it("a pattern that cannot be compiled fails alone", async () => {
    expect(await pool.regex("(", "a")).toMatchObject({ passed: false });
    expect(await pool.regex("a", "a")).toEqual({ passed: true });
  });

  it("an output over 256 KiB is not tested", async () => {
    expect(await pool.regex("a", "a".repeat(256 * 1024))).toEqual({ passed: true });
    expect(await pool.regex("a", "a".repeat(256 * 1024 + 1))).toMatchObject({
      passed: false,
      reason: expect.stringContaining("256 KiB"),
    });
    expect(await pool.regex("é", "é".repeat(128 * 1024 + 1))).toMatchObject({ passed: false });
  });

  it("fits JSON into a schema and says what does not fit", async () => {
    const schema = {
      type: "object",
      properties: { kind: { enum: ["bug", "outage"] }, tags: { type: "array", items: { type: "string" } } },
      required: ["kind"],
    };
    expect(await pool.jsonSchema(schema, ' {"kind": "bug", "tags": []}\n')).toEqual({ passed: true });
    expect(await pool.jsonSchema(schema, "kind: bug")).toMatchObject({ reason: "The output is no JSON." });
    expect(await pool.jsonSchema(schema, '{"kind": "bug", "tags": ["a", 1]}')).toMatchObject({
      reason: expect.stringContaining("at tags.1"),
    });
    const evil = { type: "string", pattern: "^(a+)+$" };
    expect(await pool.jsonSchema(evil, JSON.stringify(`${"a".repeat(40)}b`))).toMatchObject(stopped);
  });

  it("ends what is under way and waiting when it is closed", async () => {
    const another = createCheckPool({ size: 1 });
    onTestFinished(another.close);
    const checks = [1, 2, 3].map(() => another.regex("(a+)+$", `${"a".repeat(40)}b`));
    await another.close();
    const reason = expect.stringContaining("stops");
    expect(await Promise.all(checks)).toEqual(Array.from({ length: 3 }, () => ({ passed: false, reason })));
    expect(await another.regex("a", "a")).toEqual({ passed: false, reason });
  });
});
