import { type Connections, loginOf } from "../connections/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { IntegrationEvent } from "../integrations/index.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { Outcome } from "./outcome.ts";
import { findSubscribed, setFailing, type TriggerRow, triggersOfConnection, updateAsOf } from "./store.ts";

export interface ProviderEventDeps {
  db: Database;
  connections: Pick<Connections, "changed">;
  dispatches: Pick<Dispatches, "failed">;
}

/** What a provider says of its own part: that it stopped a subscription, or that an account cannot be used any more. */
export async function settleProviderEvent(
  deps: ProviderEventDeps,
  workspaceId: string,
  event: IntegrationEvent,
): Promise<Outcome> {
  switch (event.kind) {
    case "trigger_disabled":
      return stopped(deps, workspaceId, event);
    case "account_expired":
      return expired(deps, workspaceId, event);
    case "trigger":
    case "unknown":
      return { state: "ignored", reason: "Events of this kind start nothing." };
  }
}

async function stopped(
  deps: ProviderEventDeps,
  workspaceId: string,
  { triggerId: id, triggerUuid: uuid, reason }: IntegrationEvent,
): Promise<Outcome> {
  const row = await findSubscribed(deps.db.read, workspaceId, { id, uuid });
  if (!row) return { state: "ignored", reason: "No trigger of this workspace has this subscription." };
  if (row.enabled === 0) return { state: "ignored", reason: `The trigger ${row.id} is disabled anyway.` };
  const error = `The provider stopped the subscription${because(reason)}; see to its connection, then enable the trigger again.`;
  return { state: "done", reason: null, unit: { run: (tx) => stop(tx, deps, row, "disabled", error) } };
}

async function expired(
  deps: ProviderEventDeps,
  workspaceId: string,
  { accountId, userId, toolkit, reason }: IntegrationEvent,
): Promise<Outcome> {
  const rows = accountId === null ? [] : await triggersOfConnection(deps.db.read, workspaceId, accountId);
  const login = loginOf(workspaceId, userId ?? "") ?? rows[0]?.owner;
  const affected = rows.filter((row) => row.enabled === 1);
  const error = `The connection at ${toolkit ?? rows[0]?.toolkit ?? "the toolkit"} has expired${because(reason)}; authorise it again, then choose the new connection for the trigger.`;
  const run = async (tx: Tx) => {
    if (login !== undefined) await deps.connections.changed(tx, { workspaceId, login });
    for (const row of affected) await stop(tx, deps, row, "failed", error);
  };
  const nobody = affected.length === 0;
  return {
    state: nobody ? "ignored" : "done",
    reason: nobody ? "No enabled trigger of this workspace uses this connection." : null,
    unit: { run },
  };
}

/** Leaves alone what was changed since it was read: then the provider is just being told what is wanted. */
async function stop(
  tx: Tx,
  { dispatches }: ProviderEventDeps,
  row: TriggerRow,
  state: "disabled" | "failed",
  error: string,
): Promise<void> {
  if (!(await updateAsOf(tx, row, { state, error }))) return;
  await setFailing(tx, row.id, 1);
  const about = { workspaceId: row.workspace_id, kind: "trigger", ref: row.id } as const;
  await dispatches.failed(tx, { ...about, state: "action_needed", summary: error });
}

/** The provider's reason is a word such as `connection_expired`. */
const because = (reason: string | null) => (reason === null ? "" : ` (${reason})`);
