import { describe, expect, it } from "vitest";
import { checkConfig } from "../../../src/triggers/check-config.ts";

const schema = {
  type: "object",
  properties: { owner: { type: "string" }, count: { type: "integer", minimum: 1 } },
  required: ["owner"],
};

describe("a config", () => {
  it("fits its schema, or the places that do not are named", async () => {
    expect(await checkConfig({ schema, config: { owner: "acme", more: true } })).toEqual([]);
    expect(await checkConfig({ schema, config: { count: 0 } })).toEqual([
      { path: "config.owner", message: "This is required." },
      { path: "config.count", message: "Use at least 1." },
    ]);
  });

  it("is not checked with a schema that cannot be read", async () => {
    expect(await checkConfig({ schema: { $ref: "https://example.test/x" }, config: {} })).toBeUndefined();
  });

  it("is refused when checking it does not end", async () => {
    const endless = { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } };
    const problems = await checkConfig({ schema: endless, config: { text: `${"a".repeat(60)}!` } });
    expect(problems).toEqual([{ path: "config", message: expect.stringContaining("too long") }]);
  });
});
