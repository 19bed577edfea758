import { onTestFinished } from "vitest";
import type { RequestSetup, TestApp } from "./app.ts";
import { type ModelSimulator, type SimulatedReply, startModelSimulator } from "./model-simulator.ts";
import { specText } from "./run-requests.ts";

type Requester = Pick<TestApp, "request">;
type Json = Record<string, unknown>;

/** A model that writes, and the variables that make a service use it as `openai-compatible/…`. */
export async function startWriter(): Promise<{ model: ModelSimulator; env: Record<string, string> }> {
  const model = await startModelSimulator();
  onTestFinished(model.close);
  return { model, env: { OPENAI_COMPATIBLE_BASE_URL: `${model.origin}/v1` } };
}

/** Has the workspace's agents written by that model. */
export async function useWriter(app: Requester, more: Json = {}): Promise<void> {
  const body = { model: "openai-compatible/writer", ...more };
  const { status, text } = await app.request("PATCH", "/settings", { body });
  if (status !== 200) throw new Error(`The settings were refused: ${text}`);
}

/** Asks for a change and answers its id; throws when that is refused. */
export async function postChange(app: Requester, body: Json, setup?: RequestSetup): Promise<string> {
  const answer = await app.request("POST", "/agent-changes", { body, ...setup });
  if (answer.status !== 202) throw new Error(`The change was refused with ${answer.status}: ${answer.text}`);
  return answer.json.task_id;
}

/** The change as the API shows it once it has ended. Throws when that takes over 25 s. */
export async function endedChange(app: Requester, id: string) {
  const { json, text } = await app.request("GET", `/agent-changes/${id}?wait=25`);
  if (!json?.agentChange?.finishedAt) throw new Error(`The change has not ended: ${text}`);
  return json.agentChange;
}

export const changeToEnd = async (app: Requester, body: Json, setup?: RequestSetup) =>
  endedChange(app, await postChange(app, body, setup));

/** A spec as the model writes it: an echo unless told otherwise. */
export const writtenSpec = (name: string, spec: Json = {}) => specText(name, spec);

/** Eval cases that an echo passes. */
export const writtenEvals = JSON.stringify({
  cases: [{ name: "says it back", input: "Hello", assert: { contains: "hello" } }],
});

/** A model's call of one tool. */
export const calls = (name: string, args: unknown): SimulatedReply => ({ toolCalls: [{ name, args }] });

/** The replies of a model that writes an agent at the first go. */
export const writesAgent = (name: string, spec: Json = {}): SimulatedReply[] => [
  calls("WRITE_SPEC", { text: writtenSpec(name, spec) }),
  calls("WRITE_EVALS", { text: writtenEvals }),
  { text: `I wrote ${name}. It says back what it hears.` },
];

/** What a tool answered the model before that request. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export function toolAnswer(model: ModelSimulator, request: number): any {
  const text = model.requests[request]?.body.messages.at(-1).content;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the model was told in the system's and in the user's name. */
export function told(model: ModelSimulator): { system: string; user: string } {
  const { messages } = model.requests[0]?.body ?? { messages: [] };
  const of = (role: string) => messages.find((each: { role: string }) => each.role === role)?.content;
  return { system: of("system"), user: of("user") };
}
