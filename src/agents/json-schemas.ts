import { z } from "zod";
import { EvalFile } from "./eval-file.ts";
import type { SpecSchemas } from "./parse-spec.ts";

/** A JSON Schema document, draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

const draft = "https://json-schema.org/draft/2020-12/schema";

/** JSON Schema of a spec file as an author writes it (defaults may be left out), for editors and CI. */
export function agentJsonSchema(schemas: SpecSchemas): JsonSchema {
  const title = "Rollcall agent";
  const description = "Spec of one agent, agents/<framework>/<name>.yaml in the repository.";
  const [first, ...others] = [...schemas.values()].map(inputSchema);
  if (first && others.length === 0) return { $schema: draft, title, description, ...first };
  return { $schema: draft, title, description, anyOf: first ? [first, ...others] : [] };
}

/** JSON Schema of an eval sidecar, for editors and CI. */
export function evalJsonSchema(): JsonSchema {
  const title = "Rollcall evals";
  const description = "Eval cases of one agent, agents/<framework>/<name>.eval.yaml in the repository.";
  return { $schema: draft, title, description, ...inputSchema(EvalFile) };
}

function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
}
