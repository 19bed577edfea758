import type { Members } from "../access/index.ts";
import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { FailureCode } from "../frameworks/index.ts";
import type { Database, Rows } from "../platform/db/index.ts";
import { AppError } from "../platform/errors.ts";
import { atLeast } from "../platform/http/index.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Runs } from "../runs/index.ts";

export interface StartDeps {
  db: Database;
  agents: Pick<Agents, "resolve">;
  members: Pick<Members, "roles">;
  runs: Pick<Runs, "order" | "orderFailed">;
  redactor: Redactor;
}

export interface Wanted {
  workspaceId: string;
  agent: string;
  runAs: string;
  message: string;
}

/** The run of a message, still to be committed. */
export interface StartedRun {
  runId: string;
  state: "done" | "failed";
  /** Why the run could not start. */
  reason: string | null;
  rows: Rows;
  committed?: () => void;
}

interface Broken {
  kind: "broken";
  version: RunnableVersion | "stable" | "draft";
  failureCode: FailureCode;
  reason: string;
  diagnostics?: string;
}

/** Makes the run of a message: one that is queued or, when that is impossible now, one that has failed. */
export async function startRun(deps: StartDeps, wanted: Wanted): Promise<StartedRun> {
  const { workspaceId, agent, runAs } = wanted;
  const order = { ...wanted, trigger: "chat" } as const;
  const version = await deps.agents.resolve(workspaceId, agent, undefined).catch(brokenAgent);
  if ("kind" in version) return failedRun(deps, order, version);
  const role = (await deps.members.roles(deps.db.read, workspaceId, [runAs])).get(runAs);
  if (role !== undefined && atLeast(role, "operator")) {
    const { id: runId, rows, committed } = deps.runs.order({ ...order, version });
    return { runId, state: "done", reason: null, rows, committed };
  }
  const reason = `${runAs} is no member with the operator role.`;
  return failedRun(deps, order, { kind: "broken", version, failureCode: "not_permitted", reason });
}

function failedRun(
  { runs, redactor }: StartDeps,
  order: Omit<Parameters<Runs["order"]>[0], "version">,
  { version, failureCode, reason, diagnostics }: Broken,
): StartedRun {
  const details = redactor.scrub([reason, diagnostics].filter(Boolean).join("\n"));
  const { id: runId, rows } = runs.orderFailed({ ...order, version, failureCode, details });
  return { runId, state: "failed", reason, rows };
}

/** Why there is nothing to run. Throws what says nothing of the agent, such as a database that is away. */
function brokenAgent(error: unknown): Broken {
  if (!(error instanceof AppError) || error.status >= 500) throw error;
  const broken = { kind: "broken", failureCode: "invalid_spec", reason: error.message } as const;
  // Only the problems of a draft come with details.
  if (error.details === undefined) return { ...broken, version: "stable" };
  return { ...broken, version: "draft", diagnostics: JSON.stringify(error.details) };
}
