import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, isStepCount, jsonSchema } from "ai";

/** What each run of the bench is about. */
export const instructions = "You tell what the weather is like.";
export const message = "How is the weather in Oslo?";
export const tool = {
  slug: "WEATHER_TODAY",
  description: "Says what the weather is like.",
  inputSchema: {
    type: "object" as const,
    properties: { city: { type: "string" as const } },
    required: ["city"],
    additionalProperties: false as const,
  },
  answer: "clear sky",
};

type Bare = () => Promise<unknown>;

/** By framework, its library as its documentation has it, against a server of chat completions. */
export const bareLibraries: Record<string, (url: string) => Promise<Bare>> = {
  async "ai-sdk"(baseURL) {
    const model = createOpenAICompatible({ name: "bench", baseURL, apiKey: "none" }).chatModel("bench");
    const inputSchema = jsonSchema(tool.inputSchema);
    const tools = {
      [tool.slug]: { description: tool.description, inputSchema, execute: async () => tool.answer },
    };
    return () =>
      generateText({ model, instructions, prompt: message, tools, stopWhen: isStepCount(20), maxRetries: 0 });
  },

  async "openai-agents"(baseURL) {
    setTracingDisabled(true);
    const modelProvider = new OpenAIProvider({ apiKey: "none", baseURL, useResponses: false });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const weather = agentTool({
      name: tool.slug,
      description: tool.description,
      parameters: tool.inputSchema,
      strict: true,
      execute: async () => tool.answer,
    });
    const agent = new Agent({ name: "bench", instructions, model: "bench", tools: [weather] });
    return () => runner.run(agent, message);
  },

  async langgraph(baseURL) {
    const model = new FetchedChatModel(baseURL);
    const State = Annotation.Root({
      messages: Annotation<BaseMessage[]>({
        reducer: (before, more) => [...before, ...more],
        default: () => [],
      }),
    });
    const asked = ({ messages }: typeof State.State) => (messages.at(-1) as AIMessage).tool_calls ?? [];
    const graph = new StateGraph(State)
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", async (state) => ({
        messages: asked(state).map(
          ({ id = "" }) => new ToolMessage({ content: tool.answer, tool_call_id: id }),
        ),
      }))
      .addEdge(START, "model")
      .addConditionalEdges("model", (state) => (asked(state).length > 0 ? "tools" : END))
      .addEdge("tools", "model")
      .compile();
    return () => graph.invoke({ messages: [new SystemMessage(instructions), new HumanMessage(message)] });
  },
};

/** LangChain's own client is a package that nothing else needs; this is the least that one can be. */
class FetchedChatModel extends BaseChatModel {
  private readonly url: string;

  constructor(url: string) {
    super({});
    this.url = url;
  }

  override _llmType(): string {
    return "fetched";
  }

  override async _generate(messages: BaseMessage[]) {
    const roles: Record<string, string> = { human: "user", ai: "assistant" };
    const response = await fetch(`${this.url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "bench",
        messages: messages.map((each) => ({ role: roles[each.type] ?? each.type, content: each.text })),
        tools: [
          {
            type: "function",
            function: { name: tool.slug, description: tool.description, parameters: tool.inputSchema },
          },
        ],
      }),
    });
    const { choices } = (await response.json()) as {
      choices: [
        {
          message: {
            content: string | null;
            tool_calls?: { id: string; function: { name: string; arguments: string } }[];
          };
        },
      ];
    };
    const [{ message: answer }] = choices;
    const text = answer.content ?? "";
    const calls = (answer.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments),
    }));
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: calls }) }] };
  }
}
