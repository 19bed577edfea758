import type { SuiteState, Verdict, VerdictCase } from "../../../src/evals/index.ts";
import type { AgentRow } from "../../../src/pull-requests/agent-store.ts";
import { type JudgedAgent, type JudgedHead, resultOf, stateOf } from "../../../src/pull-requests/outcome.ts";
import type { HeadRow } from "../../../src/pull-requests/store.ts";

export const sha = (digit: string) => digit.repeat(40);

/** A head that is running, but for these changes. */
export const headRow = (changes: Partial<HeadRow> = {}): HeadRow => ({
  id: "prh_1",
  workspace_id: "ws_1",
  number: 7,
  merge_branch: null,
  head_sha: sha("a"),
  base_ref: "main",
  base_head: sha("b"),
  base_sha: sha("c"),
  author: "ann",
  author_belongs: 1,
  run_as: "ann",
  fork: 0,
  approved_by: null,
  state: "running",
  reason: null,
  created_at: 1,
  updated_at: 2,
  finished_at: null,
  ...changes,
});

/** An agent with evals, but for these changes. */
export const agentRow = (changes: Partial<AgentRow> = {}): AgentRow => {
  const agent = changes.agent ?? "refunds";
  return {
    head_id: "prh_1",
    position: 0,
    agent,
    path: `agents/ai-sdk/${agent}.yaml`,
    eval_path: `agents/ai-sdk/${agent}.eval.yaml`,
    outcome: "evals",
    problem: null,
    spec_sha: "1".repeat(64),
    eval_sha: "2".repeat(64),
    case_lines: "[2,5,8]",
    base_spec_sha: null,
    base_eval_sha: null,
    suite_id: "eval_5",
    ...changes,
  };
};

export const passing = (name: string): VerdictCase => ({ name, passed: true, detail: "", judgePassed: null });
export const failing = (name: string, detail = "The output is wrong."): VerdictCase => ({
  name,
  passed: false,
  detail,
  judgePassed: null,
});

export function verdict(cases: VerdictCase[], changes: Partial<Verdict> = {}): Verdict {
  const passedCount = cases.filter(({ passed }) => passed).length;
  const totalCount = cases.length;
  const status = passedCount === totalCount ? "passed" : "failed";
  return {
    evalId: "eval_5",
    status,
    totalCount,
    passedCount,
    cached: false,
    costUsd: null,
    cases,
    ...changes,
  };
}

export const suite = (status: SuiteState["status"], error?: string): SuiteState => ({
  status,
  totalCount: 3,
  passedCount: 0,
  cached: false,
  ...(error === undefined ? {} : { error }),
});

export function judgedAgent(
  changes: Partial<AgentRow> = {},
  known: { own?: SuiteState; verdict?: Verdict; base?: Verdict } = {},
): JudgedAgent {
  const row = agentRow(changes);
  return { row, result: resultOf(row, known.own, known.verdict), own: known.own, base: known.base };
}

export function judgedHead(agents: JudgedAgent[], changes: Partial<HeadRow> = {}): JudgedHead {
  const head = headRow(changes);
  return { head, agents, state: stateOf(head, agents) };
}

/** An agent whose file has a problem. */
export const brokenAgent = (changes: Partial<AgentRow> = {}, message = "`model` is missing.") =>
  judgedAgent({
    outcome: "invalid",
    suite_id: null,
    problem: JSON.stringify({ path: "agents/ai-sdk/broken.yaml", line: 3, column: 1, message }),
    agent: "broken",
    ...changes,
  });
