import type { StatusPost } from "../commit-status/index.ts";
import { toInstant } from "../platform/clock.ts";
import { problemOf } from "./describe.ts";
import type { JudgedAgent, JudgedHead } from "./outcome.ts";
import type { PullRequestHead } from "./schema.ts";

/** A head with its agents as they stand now. */
export function presentHead({ head, agents }: JudgedHead, post: StatusPost | undefined): PullRequestHead {
  return {
    id: head.id,
    number: head.number === 0 ? null : head.number,
    ...(head.merge_branch === null ? {} : { mergeBranch: head.merge_branch }),
    headSha: head.head_sha,
    baseRef: head.base_ref,
    baseSha: head.base_sha,
    author: head.author,
    fork: head.fork === 1,
    state: head.state,
    ...(head.reason === null ? {} : { reason: head.reason }),
    ...(head.approved_by === null ? {} : { approvedBy: head.approved_by }),
    runAs: head.run_as,
    agents: agents.map(presentAgent),
    statusPost: post ?? { state: "none" },
    createdAt: toInstant(head.created_at),
    finishedAt: toInstant(head.finished_at),
  };
}

function presentAgent(agent: JudgedAgent): PullRequestHead["agents"][number] {
  const { row, base } = agent;
  const problem = problemOf(row);
  return {
    agent: row.agent,
    path: row.path,
    evalPath: row.eval_path,
    outcome: row.outcome,
    ...(problem ? { problem } : {}),
    ...presentSuite(agent),
    ...(base
      ? { base: { evalId: base.evalId, passedCount: base.passedCount, totalCount: base.totalCount } }
      : {}),
  };
}

function presentSuite({ row, result, own }: JudgedAgent): Partial<PullRequestHead["agents"][number]> {
  if (row.suite_id === null) return {};
  const shown = result.kind === "verdict" ? result.verdict : own && { ...own, evalId: row.suite_id };
  if (!shown) return { evalId: row.suite_id };
  const { evalId, status, cached, passedCount, totalCount } = shown;
  return { evalId, status, cached, passedCount, totalCount };
}
