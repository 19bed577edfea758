import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson, requireJson } from "../../../src/webhooks/read-body.ts";

const statusOf = (work: () => unknown) => {
  try {
    work();
    return 202;
  } catch (error) {
    return (error as { status?: number }).status;
  }
};

describe("the body of a call", () => {
  it.each([
    [undefined, 202],
    ["application/json", 202],
    ["Application/JSON; charset=UTF-8", 202],
    ['application/json;charset="utf-8"', 202],
    ["application/cloudevents+json", 202],
    ["application/json; charset=latin1", 415],
    ["application/x-www-form-urlencoded", 415],
    ["text/plain", 415],
    ["application/jsonp", 415],
    ["", 415],
  ])("with the content type %s is answered %d", (type, status) => {
    expect(statusOf(() => requireJson((name) => (name === "content-type" ? type : undefined)))).toBe(status);
  });

  it("is not taken compressed", () => {
    expect(statusOf(() => requireJson((name) => (name === "content-encoding" ? "gzip" : undefined)))).toBe(
      415,
    );
  });

  it("may be any JSON value, and its text stays as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = ` ${JSON.stringify(value, null, 1)}\n`;
        expect(readJson(Buffer.from(text))).toBe(text);
      }),
    );
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    expect(readJson(Buffer.from(deep))).toBe(deep);
    expect(readJson(Buffer.from('\ufeff{"a":1}'))).toBe('{"a":1}');
  });

  it("is refused with 400, and nothing worse, when it is something else", () => {
    const texts = ["", " ", "{", "{a:1}", "NaN", "'x'", "1 2", '"\u0001"', '{"a":1}}', "undefined"];
    for (const text of texts)
      expect(
        statusOf(() => readJson(Buffer.from(text))),
        text,
      ).toBe(400);
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect([202, 400]).toContain(statusOf(() => readJson(Buffer.from(bytes))));
      }),
    );
    expect(statusOf(() => readJson(Buffer.from([0x22, 0xff, 0x22])))).toBe(400);
  });
});
