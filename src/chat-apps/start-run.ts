import type { Members } from "../access/index.ts";
import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { Database, Rows } from "../platform/db/index.ts";
import { atLeast } from "../platform/http/index.ts";
import { type BrokenStart, brokenAgent, type Runs } from "../runs/index.ts";

export interface StartDeps {
  db: Database;
  agents: Pick<Agents, "resolve">;
  members: Pick<Members, "roles">;
  runs: Pick<Runs, "order" | "orderFailed">;
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

type Broken = BrokenStart & { version: RunnableVersion | "stable" | "draft" };

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
  { runs }: StartDeps,
  order: Omit<Parameters<Runs["order"]>[0], "version">,
  { kind: _, ...broken }: Broken,
): StartedRun {
  const { id: runId, rows } = runs.orderFailed({ ...order, ...broken });
  return { runId, state: "failed", reason: broken.reason, rows };
}
