import { printable } from "../agents/index.ts";
import { fromJson } from "../platform/db/index.ts";
import type { AgentRow } from "./agent-store.ts";
import { hasPassed, type JudgedAgent, type JudgedHead } from "./outcome.ts";
import { FileProblem } from "./schema.ts";

const longest = 140;
const longestName = 60;

/** What the status of a head says: one line of at most 140 characters, which stays the same while evals run. */
export function describeHead({ head, state, agents }: JudgedHead): string {
  switch (state) {
    case "awaiting_approval":
      return "Waiting for an operator to approve this commit.";
    case "planning":
      return "Looking for the agents that changed.";
    case "running":
      return `Evals of ${agentCount(agents.filter(({ row }) => row.outcome === "evals").length)} are running.`;
    case "success":
    case "failure":
    case "error":
    case "superseded":
      return head.reason === null ? describeEnd(agents) : cut(printable(head.reason), longest);
  }
}

function describeEnd(agents: readonly JudgedAgent[]): string {
  if (agents.length === 0) return "No agents changed.";
  const checked = agents.filter(({ row }) => row.outcome !== "no_evals");
  const without = agents.length - checked.length;
  if (checked.length === 0) return `${agentCount(without)} changed; no evals.`;
  const counts = [`${checked.filter(hasPassed).length} of ${agentCount(checked.length)} passed`];
  const { passed, total } = caseCounts(checked);
  if (total > 0) counts.push(`${passed} of ${total} case${total === 1 ? "" : "s"}`);
  if (without > 0) counts.push(`${without} without evals`);
  const fault = describeFault(checked);
  return cut(`${counts.join(", ")}${fault === undefined ? "" : `: ${fault}`}`, longest);
}

function caseCounts(agents: readonly JudgedAgent[]): { passed: number; total: number } {
  const verdicts = agents.flatMap(({ result }) => (result.kind === "verdict" ? result.verdict : []));
  return {
    passed: verdicts.reduce((sum, { passedCount }) => sum + passedCount, 0),
    total: verdicts.reduce((sum, { totalCount }) => sum + totalCount, 0),
  };
}

/** The one fault to begin with: a broken file before a suite that could not be run before a case that failed. */
function describeFault(agents: readonly JudgedAgent[]): string | undefined {
  const problem = agents.flatMap(({ row }) => problemOf(row) ?? [])[0];
  if (problem) return printable(`${problem.path} line ${problem.line}: ${problem.message}`);
  for (const { row, result } of agents) {
    if (result.kind === "error")
      return printable(`evals of ${nameOf(row)} could not be run: ${result.error}`);
  }
  for (const { row, result } of agents) {
    const failed = result.kind === "verdict" && result.verdict.cases.find(({ passed }) => !passed);
    if (failed) return printable(`${nameOf(row)} failed at '${cut(failed.name, longestName)}'`);
  }
  return undefined;
}

const nameOf = ({ agent }: AgentRow) => cut(agent, longestName);

/** What is wrong with a file of the agent, if it is not valid. */
export const problemOf = ({ problem }: AgentRow): FileProblem | undefined =>
  problem === null ? undefined : fromJson(FileProblem, problem);

export const agentCount = (count: number): string => `${count} agent${count === 1 ? "" : "s"}`;

/** The text, or its beginning with an ellipsis: at most so many UTF-16 units, no character in halves. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
