import { toInstant } from "../platform/clock.ts";
import { fromJson } from "../platform/db/index.ts";
import { type AgentChange, Draft, Evaluation } from "./schema.ts";
import type { ChangeRow } from "./store.ts";

/** Address of the page that shows a task. */
export const taskUrl = (publicUrl: string | undefined, id: string): string =>
  `${publicUrl ?? ""}/agent-changes/${id}`;

export function presentChange(row: ChangeRow, publicUrl: string | undefined): AgentChange {
  const draft = row.draft === null ? undefined : fromJson(Draft, row.draft);
  return {
    task_id: row.id,
    kind: row.kind,
    status: row.status,
    html_url: row.url ?? taskUrl(publicUrl, row.id),
    agent_path: row.agent_path,
    agent: row.agent,
    description: row.description,
    requestedBy: row.requested_by,
    ...(draft ? presentDraft(draft) : {}),
    ...(row.eval_id === null ? {} : { evalId: row.eval_id }),
    ...(row.evaluation === null ? {} : { evals: presentEvaluation(row.evaluation) }),
    ...(row.branch === null ? {} : { branch: row.branch }),
    ...(row.commit_sha === null ? {} : { commitSha: row.commit_sha }),
    ...(row.error === null ? {} : { error: row.error }),
    createdAt: toInstant(row.created_at),
    finishedAt: toInstant(row.finished_at),
  };
}

function presentDraft({ summary, notes, suggestion, usage }: Draft): Partial<AgentChange> {
  return {
    summary,
    ...(notes.length > 0 ? { notes } : {}),
    ...(suggestion ? { suggestedAutomation: suggestion } : {}),
    tokensInput: usage.input,
    tokensOutput: usage.output,
    costUsd: usage.costUsd,
  };
}

function presentEvaluation(json: string): NonNullable<AgentChange["evals"]> {
  const { cases: _, ...shown } = fromJson(Evaluation, json);
  return shown;
}
