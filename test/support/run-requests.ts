import { setTimeout as sleep } from "node:timers/promises";
import type { RequestSetup, TestApp } from "./app.ts";

export interface SeenEvent {
  /** `attempt-seq`, as Last-Event-ID wants it. */
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  data: any;
}

type Requester = Pick<TestApp, "request">;

/** The text of a spec; JSON is YAML, so no key needs a thought about quotes. */
export function specText(name: string, spec: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify(
    { name, framework: "ai-sdk", model: "offline/echo", instructions: "You are tested.", ...spec },
    null,
    2,
  );
}

/** Files of agents by their names, each with what differs from an offline echo. */
export function agentFiles(specs: Readonly<Record<string, Record<string, unknown>>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [`agents/ai-sdk/${name}.json`, specText(name, spec)]),
  );
}

/** Queues a run and answers its id; throws when that is refused. */
export async function postRun(
  app: Requester,
  agent: string,
  message = "Hello",
  setup?: RequestSetup,
): Promise<string> {
  const answer = await app.request("POST", "/runs", { body: { agent, message }, ...setup });
  if (answer.status !== 202) throw new Error(`The run was refused with ${answer.status}: ${answer.text}`);
  return answer.json.run_id;
}

/** The run as the API shows it once it has ended. Throws when that takes over 20 s. */
export async function endedRun(app: Requester, id: string, setup?: RequestSetup) {
  const { json, text } = await app.request("GET", `/runs/${id}?wait=20`, setup);
  if (!json?.run?.finishedAt) throw new Error(`The run has not ended: ${text}`);
  return json.run;
}

/** Queues a run and waits for its end. */
export const runToEnd = async (app: Requester, agent: string, message?: string, setup?: RequestSetup) =>
  endedRun(app, await postRun(app, agent, message, setup), setup);

/** Resolves when the run has that status; throws when it does not come within 15 s. */
export async function reachesStatus(app: Requester, id: string, status: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const { json } = await app.request("GET", `/runs/${id}`);
    if (json.run.status === status) return;
    if (performance.now() > deadline) throw new Error(`The run is ${json.run.status}, not ${status}.`);
    await sleep(10);
  }
}

/** The trace of a run that has ended. */
export async function eventsOf(app: Requester, id: string, setup?: RequestSetup): Promise<SeenEvent[]> {
  const { text } = await app.request("GET", `/runs/${id}/events`, setup);
  return text
    .split("\n\n")
    .filter((block) => /^event:/m.test(block))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? "";
      return { id: field("id"), event: field("event"), data: JSON.parse(field("data")) };
    });
}
