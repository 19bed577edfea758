import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { isStepCount, jsonSchema, streamText } from "ai";

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

/** By framework, its library as its documentation has it, streaming, against a server of chat completions. */
export const bareLibraries: Record<string, (url: string) => Promise<Bare>> = {
  async "ai-sdk"(baseURL) {
    const provider = createOpenAICompatible({ name: "bench", baseURL, apiKey: "none", includeUsage: true });
    const model = provider.chatModel("bench");
    const inputSchema = jsonSchema(tool.inputSchema);
    const tools = {
      [tool.slug]: { description: tool.description, inputSchema, execute: async () => tool.answer },
    };
    const stopWhen = isStepCount(20);
    return async () =>
      streamText({ model, instructions, prompt: message, tools, stopWhen, maxRetries: 0 }).text;
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
    return async () => {
      const result = await runner.run(agent, message, { stream: true });
      await result.completed;
      return result.finalOutput;
    };
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
      .addNode("model", async ({ messages }) => ({ messages: [await model.whole(messages)] }))
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

interface Delta {
  content?: string | null;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
}

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

  override async _generate(): Promise<never> {
    throw new Error("The bench streams.");
  }

  async whole(messages: BaseMessage[]): Promise<AIMessageChunk> {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await this.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
    if (!whole) throw new Error("The model said nothing.");
    return whole;
  }

  override async *_streamResponseChunks(messages: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    for await (const { content, tool_calls = [] } of this.deltas(messages)) {
      const text = content ?? "";
      const tool_call_chunks = tool_calls.map(({ index, id, function: { name, arguments: args } }) => ({
        type: "tool_call_chunk" as const,
        index,
        args,
        ...(id === undefined ? {} : { id }),
        ...(name === undefined ? {} : { name }),
      }));
      const chunk = new AIMessageChunk({ content: text, tool_call_chunks });
      yield new ChatGenerationChunk({ text, message: chunk });
    }
  }

  private async *deltas(messages: BaseMessage[]): AsyncGenerator<Delta> {
    const roles: Record<string, string> = { human: "user", ai: "assistant" };
    const response = await fetch(`${this.url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "bench",
        stream: true,
        messages: messages.map((each) => ({ role: roles[each.type] ?? each.type, content: each.text })),
        tools: [
          {
            type: "function",
            function: { name: tool.slug, description: tool.description, parameters: tool.inputSchema },
          },
        ],
      }),
    });
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const data = event.slice("data: ".length);
        if (data !== "[DONE]") yield JSON.parse(data).choices[0]?.delta ?? {};
      }
    }
  }
}
