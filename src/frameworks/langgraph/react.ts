import type { BaseMessage } from "@langchain/core/messages";
import { ToolMessage } from "@langchain/core/messages";
import { Annotation, END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import type { ModelConnection } from "../../models/index.ts";
import { createModelCaller, toolCalls } from "../model-call/model-caller.ts";
import type { Session } from "../model-call/session.ts";
import type { Steps } from "../model-call/steps.ts";
import { createToolCaller, modelOutput } from "../model-call/tool-calls.ts";
import type { RunTool } from "../types.ts";
import { answerOf, createChatModel } from "./chat-model.ts";

const Conversation = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

export interface ReactOptions {
  session: Session;
  steps: Steps;
  model: ModelConnection;
  tools: readonly RunTool[];
}

/** Has a model go on with a conversation until it has an answer, and resolves to the answer's text. */
export type React = (messages: BaseMessage[], config: LangGraphRunnableConfig) => Promise<string>;

/** The loop of a model and its tools as a graph of two nodes. */
export async function createReact({ session, steps, model, tools }: ReactOptions): Promise<React> {
  const { spec } = session.run;
  const chatModel = createChatModel(await createModelCaller({ session, steps, spec, model }), tools);
  const callTool = createToolCaller(tools, { session, steps });
  type State = typeof Conversation.State;
  const asked = ({ messages }: State) => {
    const answer = answerOf(messages.at(-1));
    return answer ? toolCalls(answer) : [];
  };
  const graph = new StateGraph(Conversation)
    .addNode("model", async ({ messages }: State, config) => ({
      messages: [await chatModel.invoke(messages, config)],
    }))
    .addNode("tools", async (state: State) => ({
      messages: await Promise.all(
        asked(state).map(async (call) => {
          const output = modelOutput(await callTool(call));
          return new ToolMessage({
            content: JSON.stringify(output),
            artifact: output,
            name: call.tool,
            tool_call_id: call.callId,
          });
        }),
      ),
    }))
    .addEdge(START, "model")
    .addConditionalEdges("model", (state) => (asked(state).length > 0 ? "tools" : END), ["tools", END])
    .addEdge("tools", "model")
    .compile();
  return async (messages, config) => {
    const state = await graph.invoke({ messages }, config);
    steps.end();
    return state.messages.at(-1)?.text ?? "";
  };
}
