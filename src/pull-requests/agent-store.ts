import type { Queryable, Tx } from "../platform/db/index.ts";
import type { AgentOutcome } from "./schema.ts";

/** A row of `pull_request_agents`: an agent that a head changes. */
export interface AgentRow {
  head_id: string;
  position: number;
  agent: string;
  path: string;
  eval_path: string | null;
  outcome: AgentOutcome;
  /** JSON of a `FileProblem`. */
  problem: string | null;
  spec_sha: string | null;
  eval_sha: string | null;
  /** JSON of line numbers, one for each case. */
  case_lines: string | null;
  base_spec_sha: string | null;
  base_eval_sha: string | null;
  suite_id: string | null;
}

/** The agents of these heads, each head's in the order of their paths. */
export async function agentsOf(q: Queryable, headIds: readonly string[]): Promise<AgentRow[]> {
  return q("pull_request_agents").whereIn("head_id", headIds).orderBy(["head_id", "position"]);
}

export async function suiteIdsOf(q: Queryable, headIds: readonly string[]): Promise<string[]> {
  return q("pull_request_agents").whereIn("head_id", headIds).whereNotNull("suite_id").pluck("suite_id");
}

/** Forgets the agents of a head; new ones are inserted by the caller. */
export async function forgetAgents(tx: Tx, headId: string): Promise<void> {
  await tx("pull_request_agents").where({ head_id: headId }).delete();
}

export const newAgentRow = (row: AgentRow) => ({ table: "pull_request_agents", row: { ...row } });

/** A suite by the commit and the texts that it was made from. */
export interface SuitePlace {
  agent: string;
  commitSha: string;
  specSha: string;
  evalSha: string;
}

/** Those of a workspace's suites at these commits that are the evals of a head's agents. */
export async function countedPlaces(
  q: Queryable,
  workspaceId: string,
  shas: readonly string[],
): Promise<SuitePlace[]> {
  return q("pull_request_agents as agents")
    .join("pull_request_heads as heads", "heads.id", "agents.head_id")
    .where("heads.workspace_id", workspaceId)
    .whereIn("heads.head_sha", shas)
    .where("agents.outcome", "evals" satisfies AgentOutcome)
    .select({
      agent: "agents.agent",
      commitSha: "heads.head_sha",
      specSha: "agents.spec_sha",
      evalSha: "agents.eval_sha",
    });
}
