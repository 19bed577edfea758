import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { agentJsonSchema, evalJsonSchema } from "../../../src/agents/json-schemas.ts";
import { type AgentSpec, AgentSpecBase } from "../../../src/frameworks/index.ts";

const framework = (id: string, extra: z.ZodRawShape = {}): z.ZodType<AgentSpec> =>
  AgentSpecBase.extend({ framework: z.literal(id), ...extra });

const one = new Map([["ai-sdk", framework("ai-sdk")]]);
const two = new Map([...one, ["graph", framework("graph", { nodes: z.array(z.string()).optional() })]]);

const accepts = (schema: Record<string, unknown>, value: unknown) =>
  z.fromJSONSchema(schema).safeParse(value).success;
const example = (name: string): unknown =>
  parse(
    readFileSync(
      new URL(`../../../examples/agents-repository/agents/ai-sdk/${name}`, import.meta.url),
      "utf8",
    ),
  );

test("the schema of a spec accepts what may be written and nothing else", () => {
  for (const schema of [agentJsonSchema(one), agentJsonSchema(two)]) {
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Rollcall agent",
    });
    expect(schema).not.toHaveProperty("$id");
    // The part of one framework has no mark of its own inside.
    expect(JSON.stringify(schema).match(/\$schema/g)).toHaveLength(1);
    expect(accepts(schema, example("careful-summary.yaml"))).toBe(true);
    expect(accepts(schema, example("plain-words.json"))).toBe(true);
    expect(accepts(schema, example("broken-on-purpose.yaml"))).toBe(false);
  }
});

test("several frameworks are alternatives", () => {
  const spec = { name: "a", framework: "graph", model: "x/y", instructions: "z", nodes: ["n"] };
  expect(accepts(agentJsonSchema(two), spec)).toBe(true);
  expect(accepts(agentJsonSchema(two), { ...spec, framework: "ai-sdk" })).toBe(false);
  expect(accepts(agentJsonSchema(one), spec)).toBe(false);
});

test("the schema of an eval file accepts the examples and wants checks", () => {
  const schema = evalJsonSchema();
  expect(schema).toMatchObject({ title: "Rollcall evals", type: "object", required: ["cases"] });
  expect(accepts(schema, example("hello.eval.yaml"))).toBe(true);
  expect(accepts(schema, example("triage.eval.yaml"))).toBe(true);
  expect(accepts(schema, { cases: [] })).toBe(false);
  expect(schema).toMatchObject({
    properties: {
      cases: {
        items: {
          anyOf: [{ required: ["assert"] }, { required: ["judge"] }],
          properties: { assert: { minProperties: 1 } },
        },
      },
    },
  });
});
