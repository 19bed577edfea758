import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { type Answer, textOf } from "../model-call/gather-answer.ts";
import { assistantPart, type CallableFunction, type ModelCaller } from "../model-call/model-caller.ts";
import type { SdkPrompt } from "../model-call/sdk-types.ts";

/** A metered model as the library wants its models. */
class MeteredChatModel extends BaseChatModel {
  private readonly callModel: ModelCaller;
  private readonly functions: readonly CallableFunction[];

  constructor(callModel: ModelCaller, functions: readonly CallableFunction[]) {
    // Every setting that is left out, the library would look for in the environment.
    super({ outputVersion: "v0", disableStreaming: true, cache: false, verbose: false });
    this.callModel = callModel;
    this.functions = functions;
  }

  override _llmType(): string {
    return "metered";
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const answer = await this.callModel(promptOf(messages), this.functions);
    const text = textOf(answer);
    // The answer goes along, so that a later prompt repeats exactly what the provider said.
    const message = new AIMessage({ content: text, additional_kwargs: { answer } });
    return { generations: [{ text, message }] };
  }
}

/** A chat model whose calls are steps of the run and may ask for these functions. */
export function createChatModel(
  callModel: ModelCaller,
  functions: readonly CallableFunction[],
): BaseChatModel {
  return new MeteredChatModel(callModel, functions);
}

/** The answer that a message of such a model was made of. */
export function answerOf(message: BaseMessage | undefined): Answer | undefined {
  return message instanceof AIMessage ? (message.additional_kwargs.answer as Answer) : undefined;
}

/** Messages of a graph as a prompt of the AI SDK. */
function promptOf(messages: readonly BaseMessage[]): SdkPrompt {
  const prompt: SdkPrompt = [];
  for (const message of messages) {
    const answer = answerOf(message);
    if (answer) {
      const content = answer.content.flatMap((part) => assistantPart(part) ?? []);
      if (content.length > 0) prompt.push({ role: "assistant", content });
    } else if (message instanceof ToolMessage) {
      const { tool_call_id: toolCallId, name: toolName = "", artifact: output } = message;
      const result = { type: "tool-result" as const, toolCallId, toolName, output };
      const last = prompt.at(-1);
      if (last?.role === "tool") last.content.push(result);
      else prompt.push({ role: "tool", content: [result] });
    } else if (message instanceof SystemMessage) prompt.push({ role: "system", content: message.text });
    else if (message instanceof HumanMessage)
      prompt.push({ role: "user", content: [{ type: "text", text: message.text }] });
  }
  return prompt;
}
