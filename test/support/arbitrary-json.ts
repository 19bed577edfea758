import fc from "fast-check";
import { z } from "zod";

interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
}

/** Values that a shape mostly takes: what JSON Schema cannot say of it (refinements) may still refuse some. */
export function arbitraryOf(shape: z.ZodType): fc.Arbitrary<unknown> {
  return fromSchema(z.toJSONSchema(shape, { io: "input", unrepresentable: "any" }) as Schema);
}

function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fromSchema));
  switch (schema.type) {
    case "object":
      return objectOf(schema);
    case "array":
      return fc.array(schema.items ? fromSchema(schema.items) : fc.jsonValue(), { maxLength: 5 });
    case "string":
      return schema.pattern
        ? fc.stringMatching(new RegExp(schema.pattern, "u"), { maxLength: 40 })
        : textOf(schema);
    case "integer":
      return fc.integer({
        min: schema.minimum ?? (schema.exclusiveMinimum ?? -1_001) + 1,
        max: Math.min(schema.maximum ?? 1_000, 1_000_000),
      });
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return fc.jsonValue();
  }
}

function objectOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, fromSchema(schema)]),
  );
  return fc.record(fields, {
    requiredKeys: required.filter((name) => name in fields),
    noNullPrototype: true,
  });
}

function textOf({ minLength = 0, maxLength = 200 }: Schema): fc.Arbitrary<string> {
  return fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 40) });
}

/** Any JSON value, with the texts and numbers that break careless code more often than others. */
export function arbitraryJunk(): fc.Arbitrary<unknown> {
  const texts = [
    "",
    "\0",
    "\ud800",
    "a\udc00",
    "\u202e",
    "__proto__",
    "' or 1=1 --",
    "../..",
    "%00",
    "%s",
    "1e999",
    "NaN",
  ];
  const numbers = [-1, -0, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324];
  return fc.oneof(
    fc.constantFrom<unknown>(null, true, {}, [], ...texts, ...numbers),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.string({ minLength: 300, maxLength: 1_500 }),
    fc.jsonValue({ maxDepth: 4 }),
  );
}
