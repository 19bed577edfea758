import type { ModelConnection } from "../../models/index.ts";
import type { AgentSpec } from "../spec.ts";
import type { RunTool } from "../types.ts";
import type { Answer } from "./gather-answer.ts";
import { languageModel } from "./language-model.ts";
import { meteredModel } from "./metered-model.ts";
import type { SdkAssistantPart, SdkCall, SdkPrompt } from "./sdk-types.ts";
import type { Session } from "./session.ts";
import type { Steps } from "./steps.ts";
import { parseArguments, type ToolCall } from "./tool-calls.ts";

/** A function that a model may call: a tool of the run, or one that a library adds. */
export type CallableFunction = Pick<RunTool, "slug" | "description" | "inputSchema">;

/** Makes one metered call. Rejects with a RunFailure, or with the signal's reason. */
export type ModelCaller = (prompt: SdkPrompt, functions: readonly CallableFunction[]) => Promise<Answer>;

export interface ModelCallerOptions {
  session: Session;
  /** Where the calls are steps. */
  steps: Steps;
  /** Whose parameters and retries hold. */
  spec: AgentSpec;
  model: ModelConnection;
}

/** OpenAI keeps answers on its servers by default; nothing here reads them again. */
export const providerOptions = { openai: { store: false } };

/** The way to a model for libraries that bring no client of their own: the metered client of the AI SDK. */
export async function createModelCaller(options: ModelCallerOptions): Promise<ModelCaller> {
  const { session, steps, spec, model } = options;
  const { temperature, maxOutputTokens } = spec.parameters;
  const client = meteredModel(await languageModel(model), {
    session,
    steps,
    connection: model,
    retries: spec.retries,
  });
  const settings = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    abortSignal: session.run.signal,
    providerOptions,
  };
  return async (prompt, functions) => {
    const tools = functions.map(({ slug, description, inputSchema }) => ({
      type: "function" as const,
      name: slug,
      description,
      inputSchema,
    }));
    const call: SdkCall = { prompt, ...settings };
    if (tools.length > 0)
      Object.assign(call, { tools, toolChoice: { type: "auto" } } satisfies Partial<SdkCall>);
    return client.doGenerate(call);
  };
}

type AnswerPart = Answer["content"][number];

/**
 * A part of an answer as a later prompt repeats it; undefined for parts that models are not told again. What
 * providers want back together with it, for example signatures of reasoning, goes with it.
 */
export function assistantPart(part: AnswerPart): SdkAssistantPart | undefined {
  const options = "providerMetadata" in part && part.providerMetadata;
  const rest = options ? { providerOptions: options } : {};
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: part.text, ...rest };
    case "tool-call": {
      const { toolCallId, toolName } = part;
      return { type: "tool-call", toolCallId, toolName, input: objectOf(part.input), ...rest };
    }
    default:
      return undefined;
  }
}

/** The calls that an answer asks for. */
export function toolCalls({ content }: Answer): ToolCall[] {
  return content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ callId: part.toolCallId, tool: part.toolName, args: parseArguments(part.input) }]
      : [],
  );
}

/** Providers refuse the repetition of arguments that are no object. */
function objectOf(json: string): unknown {
  const args = parseArguments(json);
  return typeof args === "object" && args !== null && !Array.isArray(args) ? args : {};
}
