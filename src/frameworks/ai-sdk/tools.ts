import { jsonSchema, type ToolSet } from "ai";
import {
  argumentCheck,
  executeTool,
  modelOutput,
  type ToolAnswer,
  type ToolScope,
} from "../model-call/tool-calls.ts";
import type { RunTool } from "../types.ts";

/** The run's tools as the SDK wants them. Arguments that do not fit are told to the model. */
export function toolSet(tools: readonly RunTool[], scope: ToolScope): ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.slug,
      {
        description: tool.description,
        inputSchema: jsonSchema(tool.inputSchema, { validate: validator(tool.inputSchema) }),
        execute: (args: unknown, { toolCallId }: { toolCallId: string }) =>
          executeTool(tool, args, toolCallId, scope),
        toModelOutput: ({ output }: { output: ToolAnswer }) => modelOutput(output),
      },
    ]),
  );
}

function validator(schema: Record<string, unknown>) {
  const check = argumentCheck(schema);
  return (value: unknown): { success: true; value: unknown } | { success: false; error: Error } => {
    const problem = check(value);
    // The value itself, not zod's copy: defaults are the tool's business.
    return problem === undefined ? { success: true, value } : { success: false, error: new Error(problem) };
  };
}
