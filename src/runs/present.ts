import { describeFailure } from "../frameworks/index.ts";
import { toInstant } from "../platform/clock.ts";
import type { Role } from "../platform/http/index.ts";
import { type Run, sourceOf } from "./schema.ts";
import type { RunRow } from "./store.ts";

/** A run as a member of that role may see it: the raw error is for workspace admins. */
export function presentRun(row: RunRow, role: Role): Run {
  return {
    id: row.id,
    agent: row.agent,
    framework: row.framework,
    version: row.version,
    commitSha: row.commit_sha,
    specSha: row.spec_sha,
    status: row.status,
    trigger: row.trigger,
    source: sourceOf[row.trigger],
    message: row.message,
    output: row.output,
    model: row.model,
    tokensInput: row.tokens_input,
    tokensOutput: row.tokens_output,
    tokensCached: row.tokens_cached,
    costUsd: row.cost_usd,
    runEnvironment: row.environment === "production" ? "Production" : "Development",
    runAs: row.run_as === "" ? null : row.run_as,
    createdAt: toInstant(row.created_at),
    startedAt: toInstant(row.started_at),
    finishedAt: toInstant(row.finished_at),
    durationMs:
      row.finished_at === null || row.started_at === null
        ? null
        : Math.max(0, row.finished_at - row.started_at),
    ...originOf(row),
    ...failureOf(row, role),
  };
}

function originOf({ eval_id, automation_id, trigger_id, webhook_id }: RunRow) {
  return {
    ...(eval_id === null ? {} : { evalId: eval_id }),
    ...(automation_id === null ? {} : { automationId: automation_id }),
    ...(trigger_id === null ? {} : { triggerId: trigger_id }),
    ...(webhook_id === null ? {} : { webhookId: webhook_id }),
  };
}

function failureOf({ failure_code: failureCode, error_details: errorDetails }: RunRow, role: Role) {
  if (failureCode === null) return {};
  const { message, recommendation } = describeFailure(failureCode);
  return {
    failureCode,
    errorMessage: message,
    failureRecommendation: recommendation,
    ...(role === "workspace_admin" && errorDetails !== null ? { errorDetails } : {}),
  };
}
