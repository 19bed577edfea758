import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { envelope } from "../../../src/webhooks/envelope.ts";

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const number = fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]{1,4})?$/);
/** Texts of strings as callers write them: escaped in ways that JSON.stringify would not choose. */
const string = fc
  .array(
    fc.oneof(
      fc.constantFrom('\\"', "\\\\", "\\/", "\\u0041", "\\u0000", "\\ud800", "\\n", " ", "\u00a0", "\u2028"),
      fc.constantFrom("{", "]", ":", ",", "é", "😀"),
      fc.stringMatching(/^[a-z]{1,5}$/),
    ),
    { maxLength: 8 },
  )
  .map((parts) => `"${parts.join("")}"`);

/** Tokens of one JSON value; keys may occur twice. */
const { value: tokens } = fc.letrec<{ value: string[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constantFrom("true", "false", "null"), number, string).map((token) => [token]),
    fc
      .array(tie("value") as fc.Arbitrary<string[]>, { maxLength: 4 })
      .map((items) => ["[", ...items.flatMap((item, n) => (n === 0 ? item : [",", ...item])), "]"]),
    fc
      .array(fc.tuple(fc.constantFrom('"a"', '"b"', '"__proto__"'), tie("value") as fc.Arbitrary<string[]>), {
        maxLength: 4,
      })
      .map((pairs) => [
        "{",
        ...pairs.flatMap(([key, item], n) => [...(n === 0 ? [] : [","]), key, ":", ...item]),
        "}",
      ]),
  ),
}));

describe("the envelope of a call", () => {
  it("is what JSON.stringify makes of it, however the caller has laid its JSON out", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.jsonValue(),
        fc.constantFrom(undefined, 2, "\t"),
        (webhook, payload, indent) => {
          const json = JSON.stringify(payload, null, indent);
          expect(envelope(webhook, json)).toBe(
            JSON.stringify({ trigger_type: "webhook", webhook, payload: JSON.parse(json) }),
          );
        },
      ),
    );
  });

  it("keeps every token of the caller's JSON as it was written", () => {
    fc.assert(
      fc.property(tokens, fc.array(space, { minLength: 1, maxLength: 7 }), (written, spaces) => {
        const spaced = written.map((token, n) => (spaces[n % spaces.length] ?? "") + token).join("");
        JSON.parse(spaced);
        const message = envelope("hook", `${spaced}\n`);
        expect(message).toBe(`{"trigger_type":"webhook","webhook":"hook","payload":${written.join("")}}`);
        expect(JSON.parse(message)).toEqual({
          trigger_type: "webhook",
          webhook: "hook",
          payload: JSON.parse(spaced),
        });
      }),
      { numRuns: 500 },
    );
  });

  it("changes neither large numbers nor keys that occur twice nor their order", () => {
    const json = '{ "b": 12345678901234567890.10, "a": 1e400, "b": -0, "2": 1, "1": 2 }';
    expect(envelope('say "hi"', json)).toBe(
      '{"trigger_type":"webhook","webhook":"say \\"hi\\"","payload":{"b":12345678901234567890.10,"a":1e400,"b":-0,"2":1,"1":2}}',
    );
  });
});
