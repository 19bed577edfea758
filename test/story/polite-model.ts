import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { evalText } from "../support/eval-requests.ts";
import { encodeStream } from "../support/model-streams.ts";
import { specText } from "../support/run-requests.ts";

interface ChatRequest {
  messages: { role: string; content: string }[];
}

/**
 * A model server that does as it is told: agents whose instructions ask for politeness greet, others do not. The
 * variables make a service use it as `openai-compatible/…`.
 */
export async function startPoliteModel(): Promise<Record<string, string>> {
  const server = createServer(async (request, response) => {
    const { messages }: ChatRequest = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const instructions = messages.find(({ role }) => role === "system")?.content ?? "";
    const question = messages.findLast(({ role }) => role === "user")?.content ?? "";
    const text = `${/polite/i.test(instructions) ? "Dear customer, thank you." : "No."} (${question})`;
    const { body, end } = encodeStream("chat-completions", { text });
    response.setHeader("content-type", "text/event-stream").end([...body, ...end].join(""));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1` };
}

export const specPath = "agents/ai-sdk/support.json";
export const evalPath = "agents/ai-sdk/support.eval.json";

/** Files of the agent `support`, whose evals want it to be polite and to answer the question. */
export const supportAgent = (instructions: string): Record<string, string> => ({
  [specPath]: specText("support", { model: "openai-compatible/helpful", instructions }),
  [evalPath]: evalText(
    { name: "greets politely", input: "Where is my parcel?", assert: { contains: "dear customer" } },
    { name: "stays with the question", input: "Refund?", assert: { contains: "refund" } },
  ),
});

/** Line of the eval file on which the case that wants a greeting begins: that of its brace, before the name's. */
export const greetingLine = (supportAgent("")[evalPath] ?? "")
  .split("\n")
  .findIndex((line) => line.includes('"name": "greets'));
