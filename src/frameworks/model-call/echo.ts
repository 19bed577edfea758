import type { StreamPart } from "./gather-answer.ts";
import type { ModelClient, SdkPrompt } from "./sdk-types.ts";

/**
 * `offline/echo`: no model at all. Its answer is the user's message, unchanged and at once; tools are never
 * called. Tokens are estimated as one for each four bytes of UTF-8, rounded up, for the instructions and the
 * message together and for the answer.
 */
export function createEchoModel(modelId: string): ModelClient {
  return {
    provider: "offline",
    modelId,
    supportedUrls: {},
    async doStream({ prompt }) {
      const parts = echo(prompt);
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

function echo(prompt: SdkPrompt): StreamPart[] {
  let instructions = "";
  let message = "";
  for (const part of prompt) {
    if (part.role === "system") instructions += part.content;
    else if (part.role === "user")
      message = part.content.map((item) => (item.type === "text" ? item.text : "")).join("");
  }
  const input = estimateTokens(instructions, message);
  const output = estimateTokens(message);
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: message },
    { type: "text-end", id: "0" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: undefined },
      usage: {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output, text: output, reasoning: 0 },
      },
    },
  ];
}

function estimateTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) / 4);
}
