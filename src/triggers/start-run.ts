import type { Members } from "../access/index.ts";
import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx, Unit } from "../platform/db/index.ts";
import { atLeast } from "../platform/http/index.ts";
import type { Logger } from "../platform/logger.ts";
import { type BrokenStart, brokenAgent, notConnected, type Runs } from "../runs/index.ts";
import { disableFor } from "./disable.ts";
import { setFailing, type TriggerRow, toolsOf } from "./store.ts";
import type { RequestSync } from "./subscription-job.ts";

export interface StartDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  agents: Pick<Agents, "resolve">;
  connections: Pick<Connections, "missing">;
  members: Pick<Members, "roles">;
  runs: Pick<Runs, "order" | "orderFailed">;
  dispatches: Pick<Dispatches, "failed" | "recovered">;
  requestSync: RequestSync;
}

/** What an event has come to. `unit` is still to be committed, together with the delivery's end. */
export interface StartedRun {
  runId: string;
  state: "done" | "failed";
  /** Why the run could not start. */
  reason: string | null;
  unit: Unit<void> & Required<Pick<Unit<void>, "rows" | "run">>;
}

type Broken = BrokenStart & { version: RunnableVersion | "stable" | "draft" };
type Target = { kind: "ready"; version: RunnableVersion } | Broken;

/** Makes the run of an event: one that is queued or, when that is impossible now, one that has failed. */
export async function startRun(deps: StartDeps, trigger: TriggerRow, message: string): Promise<StartedRun> {
  const target = await targetOf(deps, trigger);
  const toolsAllowed = toolsOf(trigger);
  const order = {
    workspaceId: trigger.workspace_id,
    agent: trigger.agent,
    trigger: "event",
    runAs: trigger.owner,
    message,
    triggerId: trigger.id,
    ...(toolsAllowed === undefined ? {} : { toolsAllowed }),
  } as const;
  if (target.kind === "broken") return failedRun(deps, trigger, order, target);
  const { id: runId, rows, committed } = deps.runs.order({ ...order, version: target.version });
  const about = { workspaceId: trigger.workspace_id, kind: "trigger", ref: trigger.id } as const;
  const recover = async (tx: Tx) => {
    if (trigger.failing === 1 && (await setFailing(tx, trigger.id, 0)))
      await deps.dispatches.recovered(tx, { ...about, runId });
  };
  return { runId, state: "done", reason: null, unit: { rows, committed, run: recover } };
}

function failedRun(
  { clock, runs, dispatches, requestSync }: StartDeps,
  trigger: TriggerRow,
  order: Omit<Parameters<Runs["order"]>[0], "version">,
  { kind: _, ...broken }: Broken,
): StartedRun {
  const { failureCode, reason, diagnostics } = broken;
  const { id: runId, rows } = runs.orderFailed({ ...order, ...broken });
  const fail = async (tx: Tx) => {
    // Nobody could do anything about a failure of what was deleted meanwhile.
    if (!(await setFailing(tx, trigger.id, 1))) return;
    const noted = diagnostics === undefined ? {} : { diagnostics };
    const about = { workspaceId: trigger.workspace_id, kind: "trigger", ref: trigger.id } as const;
    await dispatches.failed(tx, { ...about, state: "action_needed", summary: reason, ...noted });
    if (failureCode === "not_permitted") await disableFor(tx, { clock, requestSync }, trigger, reason);
  };
  return { runId, state: "failed", reason, unit: { rows, run: fail } };
}

async function targetOf(deps: StartDeps, trigger: TriggerRow): Promise<Target> {
  const { workspace_id, agent, owner } = trigger;
  const version = await deps.agents.resolve(workspace_id, agent, undefined).catch(brokenAgent);
  if ("kind" in version && version.failureCode !== "invalid_spec") return version;
  const known = "kind" in version ? version.version : version;
  const role = (await deps.members.roles(deps.db.read, workspace_id, [owner])).get(owner);
  if (role === undefined || !atLeast(role, "operator")) {
    const reason = `${owner} is no member with the operator role any more; choose a connection of one who is.`;
    return { kind: "broken", version: known, failureCode: "not_permitted", reason };
  }
  return "kind" in version ? version : withConnections(deps, trigger, version);
}

/** What the run may not call it need not have connected. */
async function withConnections(
  { connections }: StartDeps,
  trigger: TriggerRow,
  version: RunnableVersion,
): Promise<Target> {
  const allowed = toolsOf(trigger);
  const slugs = version.connections.filter((slug) => allowed?.includes(slug) ?? true);
  const missing = await connections.missing(
    { workspaceId: trigger.workspace_id, login: trigger.owner },
    slugs,
  );
  if (missing.length === 0) return { kind: "ready", version };
  return { ...notConnected(trigger.owner, missing), version };
}
