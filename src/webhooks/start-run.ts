import type { Members } from "../access/index.ts";
import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Database, Tx, Unit } from "../platform/db/index.ts";
import { atLeast, type Role } from "../platform/http/index.ts";
import { type BrokenStart, brokenAgent, type Runs } from "../runs/index.ts";
import { setFailing, type WebhookRow } from "./store.ts";

export interface StartDeps {
  db: Database;
  agents: Pick<Agents, "resolve">;
  members: Pick<Members, "roles">;
  runs: Pick<Runs, "order" | "orderFailed">;
  dispatches: Pick<Dispatches, "failed" | "recovered">;
}

/** A call that was accepted: what the run is told and held to. */
export interface AcceptedCall {
  webhook: WebhookRow;
  message: string;
  /** Undefined: all tools of the agent. */
  toolsAllowed: readonly string[] | undefined;
}

/** What an accepted call has come to. `unit` is still to be committed, together with the delivery. */
export interface StartedRun {
  runId: string;
  state: "done" | "failed";
  /** Why the run could not start. */
  reason: string | null;
  unit: Unit<void> & Required<Pick<Unit<void>, "rows">>;
}

type Target =
  | { kind: "ready"; version: RunnableVersion }
  | (BrokenStart & { version: RunnableVersion | "stable" | "draft" });

/** Makes the run of an accepted call: one that is queued or, when that is impossible now, one that has failed. */
export type StartRun = (call: AcceptedCall) => Promise<StartedRun>;

export function createStartRun({ db, agents, members, runs, dispatches }: StartDeps): StartRun {
  const roleOf = createBatchLoader((keys: readonly string[]) => loadRoles(db, members, keys));

  async function targetOf({ workspace_id, agent, owner }: WebhookRow): Promise<Target> {
    const [role, version] = await Promise.all([
      roleOf(`${workspace_id}\n${owner}`),
      agents.resolve(workspace_id, agent, undefined).catch(brokenAgent),
    ]);
    if ("kind" in version) return version;
    if (role !== undefined && atLeast(role, "operator")) return { kind: "ready", version };
    const reason = `${owner} is no member with the operator role any more; give the webhook another owner.`;
    return { kind: "broken", version, failureCode: "not_permitted", reason };
  }

  return async ({ webhook, message, toolsAllowed }) => {
    const target = await targetOf(webhook);
    const order = {
      workspaceId: webhook.workspace_id,
      agent: webhook.agent,
      trigger: "webhook",
      runAs: webhook.owner,
      message,
      webhookId: webhook.id,
      ...(toolsAllowed === undefined ? {} : { toolsAllowed }),
    } as const;
    const about = { workspaceId: webhook.workspace_id, kind: "webhook", ref: webhook.id } as const;

    if (target.kind === "ready") {
      const { id: runId, rows, committed } = runs.order({ ...order, version: target.version });
      const recover = async (tx: Tx) => {
        if (await setFailing(tx, webhook.id, 0)) await dispatches.recovered(tx, { ...about, runId });
      };
      const unit = { rows, committed, ...(webhook.failing === 1 ? { run: recover } : {}) };
      return { runId, state: "done", reason: null, unit };
    }
    const { kind: _, ...broken } = target;
    const { reason, diagnostics } = broken;
    const { id: runId, rows } = runs.orderFailed({ ...order, ...broken });
    const fail = async (tx: Tx) => {
      // Nobody could do anything about a failure of what was deleted meanwhile.
      if (!(await setFailing(tx, webhook.id, 1))) return;
      const noted = diagnostics === undefined ? {} : { diagnostics };
      await dispatches.failed(tx, { ...about, state: "action_needed", summary: reason, ...noted });
    };
    return { runId, state: "failed", reason, unit: { rows, run: fail } };
  };
}

/** Keys are `workspace\nlogin`. */
async function loadRoles(
  db: Database,
  members: StartDeps["members"],
  keys: readonly string[],
): Promise<Map<string, Role>> {
  const wanted = keys.map((key) => key.split("\n") as [string, string]);
  const found = new Map<string, Role>();
  for (const [workspaceId, pairs] of Map.groupBy(wanted, ([workspace]) => workspace)) {
    const logins = pairs.map(([, login]) => login);
    for (const [login, role] of await members.roles(db.read, workspaceId, logins))
      found.set(`${workspaceId}\n${login}`, role);
  }
  return found;
}
