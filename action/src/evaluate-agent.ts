import { type AgentFiles, readText } from "./checkout.ts";
import { type Client, ServiceError } from "./client.ts";
import type { Outcome, Suite } from "./outcome.ts";

export interface Evaluation {
  client: Client;
  directory: string;
  commitSha: string;
  wait: boolean;
  /** Whether the time is over. */
  isLate(): boolean;
}

/**
 * Queues the suite of one agent and, if asked to, waits for its end. Throws only what ends all others too: a key
 * that is refused.
 */
export async function evaluateAgent(files: AgentFiles, evaluation: Evaluation): Promise<Outcome> {
  const { name: agent, specPaths, evalPaths } = files;
  const [specPath = "", otherSpec] = specPaths;
  const [evalPath, otherEval] = evalPaths;
  if (evalPath === undefined) return { kind: "skipped", agent, reason: "it has no eval file" };
  const twice = otherSpec ?? otherEval;
  if (twice !== undefined) {
    const message = "The agent has two files for the same thing; keep one of them and remove the other.";
    return { kind: "refused", agent, message, path: twice, problems: [] };
  }
  const { client, directory, commitSha, wait, isLate } = evaluation;
  if (isLate()) return { kind: "timed_out", agent, evalId: null, suite: undefined };
  const [spec, evalText] = await Promise.all([readText(directory, specPath), readText(directory, evalPath)]);
  try {
    const evalId = await client.createEval({ agent, spec, eval: evalText, commitSha });
    if (!wait) return { kind: "queued", agent, evalId };
    const suite = await follow(evalId, evaluation);
    return isFinal(suite)
      ? { kind: "ended", agent, suite, evalPath, evalText }
      : { kind: "timed_out", agent, evalId, suite };
  } catch (error) {
    if (error instanceof ServiceError && (error.status === 401 || error.status === 403)) throw error;
    const { file, problems } = error instanceof ServiceError ? error : { file: undefined, problems: [] };
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "refused", agent, message, path: file === "eval" ? evalPath : specPath, problems };
  }
}

async function follow(id: string, { client, isLate }: Evaluation): Promise<Suite> {
  for (;;) {
    const suite = await client.getEval(id);
    if (isFinal(suite) || isLate()) return suite;
  }
}

const isFinal = ({ status }: Suite) => status !== "queued" && status !== "running";
