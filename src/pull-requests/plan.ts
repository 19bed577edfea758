import {
  type ChangedAgent,
  type CompareCommits,
  caseLines,
  type DerivedAgent,
  type Problem,
} from "../agents/index.ts";
import type { PreparedSuite } from "../evals/index.ts";
import { type Rows, toJson } from "../platform/db/index.ts";
import { sha256 } from "../platform/secrets.ts";
import type { PullRequestHost } from "../repositories/index.ts";
import { type AgentRow, newAgentRow } from "./agent-store.ts";
import type { Suites } from "./ports.ts";
import { createRunAs, type RunAsDeps } from "./run-as.ts";
import type { AgentOutcome, FileProblem } from "./schema.ts";
import type { HeadRow } from "./store.ts";

export interface PlanDeps extends RunAsDeps {
  host: PullRequestHost | undefined;
  compareCommits: CompareCommits;
  evals: Pick<Suites, "prepareAt">;
}

/** What a head changes, and the suites that tell whether it is good. */
export interface Plan {
  baseSha: string;
  runAs: string | null;
  /** Why there is nothing to run although agents changed. */
  failure: string | undefined;
  /** Agents and suites. Whoever commits them calls `committed`. */
  rows: Rows;
  committed(): void;
}

/** The head cannot be compared with its base, as far as the host tells. */
export class NoComparison extends Error {}

const mostAgents = 200;

/** Suites that are prepared at the same time. */
const suitesAtOnce = 10;

/**
 * Makes the function that plans a head: it compares the head with its base and prepares a suite for each changed
 * agent that has one to be run. Changes nothing that is seen. Throws RepositoryUnavailable and NoComparison.
 */
export function createPlan(deps: PlanDeps) {
  const runAsOf = createRunAs(deps);

  return async (head: HeadRow): Promise<Plan> => {
    const baseSha = await baseOf(deps.host, head);
    const changed = await deps.compareCommits(baseSha, head.head_sha);
    const runAs = await runAsOf(head);
    if (changed.length > mostAgents) {
      const failure = `${changed.length} agents change here; split this so that at most ${mostAgents} change at once.`;
      return { baseSha, runAs, failure, rows: [], committed() {} };
    }
    const suites = await prepareSuites(deps, head, runAs, changed);
    const agents = changed.map((each, position) =>
      newAgentRow(agentRow(head, position, each, suites[position])),
    );
    return {
      baseSha,
      runAs,
      failure: undefined,
      rows: [...agents, ...suites.flatMap((suite) => suite?.rows ?? [])],
      committed() {
        for (const suite of suites) suite?.committed();
      },
    };
  };
}

async function baseOf(host: PullRequestHost | undefined, head: HeadRow): Promise<string> {
  // The queue has made the group on top of this very commit.
  if (head.number === 0) return head.base_head;
  const base = await host?.mergeBase(head.base_head, head.head_sha);
  if (base !== undefined) return base;
  throw new NoComparison(`This commit and the branch ${head.base_ref} have no commit in common.`);
}

/** In the order of the agents; undefined where there is nothing to run. */
async function prepareSuites(
  { evals, settings }: PlanDeps,
  head: HeadRow,
  runAs: string | null,
  changed: readonly ChangedAgent[],
): Promise<(PreparedSuite | undefined)[]> {
  const user = { workspaceId: head.workspace_id, login: runAs };
  const { evalCache } = await settings.evals(head.workspace_id);
  const at = { commitSha: head.head_sha, cache: evalCache };
  const suites: (PreparedSuite | undefined)[] = [];
  for (let from = 0; from < changed.length; from += suitesAtOnce) {
    const some = changed.slice(from, from + suitesAtOnce);
    const prepared = some.map(({ head: agent }) =>
      outcomeOf(agent) === "evals" ? evals.prepareAt(user, agent, at) : undefined,
    );
    suites.push(...(await Promise.all(prepared)));
  }
  return suites;
}

/** What is to be done about an agent as a commit has it. */
function outcomeOf(agent: DerivedAgent): AgentOutcome {
  if (agent.spec === undefined || agent.specText === undefined) return "invalid";
  if (!agent.hasEvals) return "no_evals";
  return agent.evalText === undefined || agent.evalProblems.length > 0 ? "eval_invalid" : "evals";
}

function agentRow(
  head: HeadRow,
  position: number,
  { head: agent, base }: ChangedAgent,
  suite: PreparedSuite | undefined,
): AgentRow {
  const problem = problemOf(agent);
  const { specText, evalText, evalPath } = agent;
  return {
    head_id: head.id,
    position,
    agent: agent.name,
    path: agent.path,
    eval_path: evalPath ?? null,
    outcome: outcomeOf(agent),
    problem: problem ? toJson(problem) : null,
    spec_sha: hashOf(specText),
    eval_sha: hashOf(evalText),
    case_lines:
      evalText === undefined
        ? null
        : toJson(caseLines(evalText, evalPath?.endsWith(".json") ? "json" : "yaml")),
    base_spec_sha: hashOf(base?.specText),
    base_eval_sha: hashOf(base?.evalText),
    suite_id: suite?.id ?? null,
  };
}

const hashOf = (text: string | undefined) => (text === undefined ? null : sha256(text));

function problemOf(agent: DerivedAgent): FileProblem | undefined {
  switch (outcomeOf(agent)) {
    case "invalid":
      return inFile(agent.path, agent.problems[0]);
    case "eval_invalid":
      return inFile(agent.evalPath ?? agent.path, agent.evalProblems[0]);
    case "evals":
    case "no_evals":
      return undefined;
  }
}

function inFile(path: string, problem: Problem | undefined): FileProblem {
  const { line = 1, column = 1, message = "The file cannot be read." } = problem ?? {};
  return { path, line, column, message };
}
