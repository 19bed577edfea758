import type { SuiteState, Verdict } from "../evals/index.ts";
import type { CommitState } from "../repositories/index.ts";
import type { AgentRow } from "./agent-store.ts";
import type { HeadState } from "./schema.ts";
import type { HeadRow } from "./store.ts";

/** What an agent of a head has come to. */
export type AgentResult =
  | { kind: "verdict"; verdict: Verdict }
  | { kind: "running" }
  /** The suite could not be run. */
  | { kind: "error"; error: string }
  /** A file is not valid. */
  | { kind: "invalid" }
  | { kind: "no_evals" };

/** An agent of a head with all that is known of it. */
export interface JudgedAgent {
  row: AgentRow;
  result: AgentResult;
  /** The suite that was made for this head, as it stands. */
  own: SuiteState | undefined;
  /** What the files came to before the change, if they were evaluated. */
  base: Verdict | undefined;
}

/** A head with the state that follows from its agents. */
export interface JudgedHead {
  head: HeadRow;
  state: HeadState;
  agents: readonly JudgedAgent[];
}

/**
 * What an agent has come to. A verdict counts when it is the own suite's or a newer one's: ids grow with time. An
 * older one says nothing as long as the head's own suite goes on, and does not hide that it could not be run.
 */
export function resultOf(
  row: AgentRow,
  own: SuiteState | undefined,
  verdict: Verdict | undefined,
): AgentResult {
  switch (row.outcome) {
    case "invalid":
    case "eval_invalid":
      return { kind: "invalid" };
    case "no_evals":
      return { kind: "no_evals" };
    case "evals":
      if (verdict && verdict.evalId >= (row.suite_id ?? "")) return { kind: "verdict", verdict };
      if (own && own.status !== "error") return { kind: "running" };
      return { kind: "error", error: own?.error ?? "The suite is gone; queue it again." };
  }
}

/** The state of a head; only one that is running or was is decided by its agents. */
export function stateOf(
  { state, reason }: Pick<HeadRow, "state" | "reason">,
  agents: readonly JudgedAgent[],
): HeadState {
  if (state === "awaiting_approval" || state === "planning" || state === "superseded") return state;
  // It ended before its agents were evaluated.
  if (reason !== null) return state;
  if (agents.some(({ result }) => result.kind === "running")) return "running";
  return agents.every(hasPassed) ? "success" : "failure";
}

/** Whether nothing is wrong with the agent. */
export function hasPassed({ result }: JudgedAgent): boolean {
  return result.kind === "no_evals" || (result.kind === "verdict" && result.verdict.status === "passed");
}

/** What a commit is to show for a state of one of its heads; undefined when that head does not count. */
export function commitStateOf(state: HeadState): CommitState | undefined {
  switch (state) {
    case "awaiting_approval":
    case "planning":
    case "running":
      return "pending";
    case "success":
    case "failure":
    case "error":
      return state;
    case "superseded":
      return undefined;
  }
}

/** The weightiest first: a commit shows what is true of any of its heads. */
const weights = ["pending", "failure", "error", "success"] as const satisfies readonly CommitState[];

/**
 * The state of a commit over all of its heads, and the head that decides it; undefined when none counts. A commit
 * is the head of several things when a branch is proposed twice, for instance into two branches.
 */
export function combine(
  heads: readonly JudgedHead[],
): { state: CommitState; deciding: JudgedHead } | undefined {
  for (const state of weights) {
    const deciding = heads.find((head) => commitStateOf(head.state) === state);
    if (deciding) return { state, deciding };
  }
  return undefined;
}
