import type { AgentInputItem, AgentOutputItem } from "@openai/agents";
import type { Answer } from "../model-call/gather-answer.ts";
import { assistantPart } from "../model-call/model-caller.ts";
import type { SdkAssistantPart, SdkPrompt, SdkToolOutput, SdkToolResult } from "../model-call/sdk-types.ts";
import { parseArguments, type ToolCall } from "../model-call/tool-calls.ts";

/**
 * An answer as the library's items. Each carries the part of the AI SDK that it was made of, so that a later
 * prompt repeats exactly what the provider said. `keep` is given each call and says under which id the library
 * may ask for it. Calls have no arguments in the library, which would refuse what is no JSON by itself.
 */
export function outputItems({ content }: Answer, keep: (call: ToolCall) => string): AgentOutputItem[] {
  const items = content.flatMap((part): AgentOutputItem[] => {
    const repeated = assistantPart(part);
    if (!repeated) return [];
    const providerData = { part: repeated };
    if (part.type === "text") return [{ ...message(part.text), providerData }];
    if (part.type !== "tool-call") return [{ type: "reasoning", content: [], providerData }];
    const { toolCallId, toolName: name, input } = part;
    const callId = keep({ callId: toolCallId, tool: name, args: parseArguments(input) });
    return [{ type: "function_call", callId, name, status: "completed", arguments: "{}", providerData }];
  });
  const isAnswer = !items.some((item) => item.type === "function_call");
  // Without a message the library would ask the model again.
  if (isAnswer && !items.some((item) => item.type === "message")) items.push(message(""));
  return items;
}

function message(text: string) {
  return {
    type: "message" as const,
    role: "assistant" as const,
    status: "completed" as const,
    content: [{ type: "output_text" as const, text }],
  };
}

/** What the library wants to be asked, as a prompt of the AI SDK. */
export function promptOf(instructions: string | undefined, input: string | AgentInputItem[]): SdkPrompt {
  const prompt: SdkPrompt = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  if (typeof input === "string") return [...prompt, userMessage(input)];
  const idsOfModel = new Map<string, string>();
  for (const item of input) {
    const last = prompt.at(-1);
    if (item.type === "function_call_result") {
      const result = toolResult(item, idsOfModel.get(item.callId) ?? item.callId);
      if (last?.role === "tool") last.content.push(result);
      else prompt.push({ role: "tool", content: [result] });
      continue;
    }
    if ("role" in item && item.role === "user") {
      prompt.push(userMessage(typeof item.content === "string" ? item.content : ""));
      continue;
    }
    const part = item.providerData?.part as SdkAssistantPart | undefined;
    if (!part) continue;
    if (item.type === "function_call" && part.type === "tool-call")
      idsOfModel.set(item.callId, part.toolCallId);
    if (last?.role === "assistant") last.content.push(part);
    else prompt.push({ role: "assistant", content: [part] });
  }
  return prompt;
}

const userMessage = (text: string): SdkPrompt[number] => ({
  role: "user",
  content: [{ type: "text", text }],
});

type FunctionResult = Extract<AgentInputItem, { type: "function_call_result" }>;

function toolResult({ name, output }: FunctionResult, toolCallId: string): SdkToolResult {
  const text = typeof output === "string" ? output : "text" in output ? output.text : JSON.stringify(output);
  return { type: "tool-result", toolCallId, toolName: name, output: decodeOutput(text) };
}

const mark = "tool-output:";

/** What a tool answered, as a text that keeps whether it worked: the library's results are texts. */
export const encodeOutput = (output: SdkToolOutput): string => mark + JSON.stringify(output);

/** Results that the library itself writes, for example of handoffs, are plain texts. */
function decodeOutput(text: string): SdkToolOutput {
  return text.startsWith(mark) ? JSON.parse(text.slice(mark.length)) : { type: "text", value: text };
}
