import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../src/platform/redact.ts";
import { mintToken } from "../../../src/platform/secrets.ts";

describe("redactor", () => {
  it("blanks every registered value wherever it stands, and nothing else", () => {
    const property = fc.property(
      fc.string({ minLength: 8 }),
      fc.string(),
      fc.string(),
      (secret, before, after) => {
        const redactor = createRedactor();
        redactor.register(secret);
        const scrubbed = redactor.scrub(`${before}|${secret}|${after}`);
        expect(scrubbed.includes(secret) && !"|[redacted]|".includes(secret)).toBe(false);
      },
    );
    fc.assert(property);
    const redactor = createRedactor();
    redactor.register("hunter2-hunter2");
    expect(redactor.scrub("a hunter2-hunter2, hunter2")).toBe("a [redacted], hunter2");
  });

  it("blanks a value with quotes and line ends in its JSON form as well", () => {
    const key = '-----BEGIN "KEY"-----\nabc\\def\n-----END-----';
    const redactor = createRedactor();
    redactor.register(key);
    const line = redactor.scrub(JSON.stringify({ key, note: "kept" }));
    expect(JSON.parse(line)).toEqual({ key: "[redacted]", note: "kept" });
  });

  it("blanks the longer of two values that begin alike, whole", () => {
    const redactor = createRedactor();
    redactor.register("secret-one");
    redactor.register("secret-one-and-more");
    expect(redactor.scrub("secret-one-and-more secret-one")).toBe("[redacted] [redacted]");
  });

  it("leaves words that were too short to register", () => {
    const redactor = createRedactor();
    redactor.register("short");
    redactor.register("");
    redactor.register(undefined);
    expect(redactor.scrub("a short text")).toBe("a short text");
  });

  it.each([
    mintToken("rck"),
    `ghp_${"a1".repeat(18)}`,
    `rcw_${"a1".repeat(18)}`,
    `whsec_${"a+/1".repeat(8)}`,
    `github_pat_${"a1".repeat(20)}`,
    "xoxb-123456789012-abcdefghij",
    `sk-proj-${"a1".repeat(20)}`,
    `sk-ant-api03-${"a1".repeat(20)}`,
    `AIza${"a1".repeat(18)}`,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
  ])("blanks a token of a known shape that was never registered: %s", (token) => {
    expect(createRedactor().scrub(`Invalid key "${token}" given`)).toBe('Invalid key "[redacted]" given');
  });

  it("blanks what follows Bearer and leaves ordinary words alone", () => {
    const { scrub } = createRedactor();
    expect(scrub("Authorization: Bearer abcdefgh12345678==, next")).toBe(
      "Authorization: Bearer [redacted], next",
    );
    for (const text of [
      "task-force-of-sixteen-people",
      "the bearer of news",
      "sk-short",
      "run_01J9ZZZZZZZZZZZZZZZZZZZZZZ",
    ]) {
      expect(scrub(text)).toBe(text);
    }
  });
});
