import fc from "fast-check";
import { expect, it } from "vitest";
import { CreateTrigger } from "../../../src/triggers/schema.ts";
import { subscriptionKey } from "../../../src/triggers/subscription-key.ts";

const base = { workspaceId: "wsp_1", connection: "ca_1", slug: "A_B" };
const keyOf = (config: Record<string, unknown>) => subscriptionKey({ ...base, config });

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, part]) => [key, reversed(part)]),
  );
};

it("is the same for the same config, whatever the order of its keys", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (config) => {
      expect(keyOf(reversed(config) as Record<string, unknown>)).toBe(keyOf(config));
    }),
  );
});

it("is another one for another config, connection, slug or workspace", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()),
      (a, b) => {
        const same =
          JSON.stringify(JSON.parse(JSON.stringify(a))) === JSON.stringify(JSON.parse(JSON.stringify(b)));
        fc.pre(!same && Object.keys(a).sort().join() !== Object.keys(b).sort().join());
        expect(keyOf(a)).not.toBe(keyOf(b));
      },
    ),
  );
  expect(keyOf({ list: [1, 2] })).not.toBe(keyOf({ list: [2, 1] }));
  expect(keyOf({ a: { b: 1 } })).not.toBe(keyOf({ a: [["b", 1]] }));
  for (const change of [{ workspaceId: "wsp_2" }, { connection: "ca_2" }, { slug: "A_C" }])
    expect(subscriptionKey({ ...base, config: {}, ...change })).not.toBe(keyOf({}));
});

it("is asked for configs of a size and depth that can be handled", () => {
  const wanted = (config: unknown) =>
    CreateTrigger.safeParse({ connection: "ca_1", slug: "A_B", config }).success;
  expect(wanted({ a: [{ b: null }] })).toBe(true);
  expect(wanted({ a: "x".repeat(16_400) })).toBe(false);
  expect(wanted({ a: JSON.parse("[".repeat(5_000) + "]".repeat(5_000)) })).toBe(false);
  expect(wanted([])).toBe(false);
});
