import type { RequestSetup, TestApp } from "./app.ts";
import { specText } from "./run-requests.ts";

type Requester = Pick<TestApp, "request">;
type Json = Record<string, unknown>;

/** The text of an eval file. Each case gets a name unless it has one. */
export function evalText(...cases: readonly Json[]): string {
  const named = cases.map((each, index) => ({ name: `case ${index}`, input: "Hello", ...each }));
  return JSON.stringify({ cases: named }, null, 2);
}

/** Files of an agent with evals, which differs from an offline echo by `spec`. */
export function agentWithEvals(name: string, cases: readonly Json[], spec?: Json): Record<string, string> {
  return {
    [`agents/ai-sdk/${name}.json`]: specText(name, spec),
    [`agents/ai-sdk/${name}.eval.json`]: evalText(...cases),
  };
}

/** Queues a suite and answers its id; throws when that is refused. */
export async function postEval(app: Requester, body: Json, setup?: RequestSetup): Promise<string> {
  const answer = await app.request("POST", "/evals", { body, ...setup });
  if (answer.status !== 202) throw new Error(`The suite was refused with ${answer.status}: ${answer.text}`);
  return answer.json.eval_id;
}

/** The suite as the API shows it once it has ended. Throws when that takes over 25 s. */
export async function endedEval(app: Requester, id: string) {
  const { json, text } = await app.request("GET", `/evals/${id}?wait=25`);
  if (!json?.eval?.finishedAt) throw new Error(`The suite has not ended: ${text}`);
  return json.eval;
}

/** Queues a suite and waits for its end. */
export const evalToEnd = async (app: Requester, body: Json) => endedEval(app, await postEval(app, body));
