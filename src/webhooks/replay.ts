import { z } from "zod";
import { type Replayer, readPayload, settleDelivery } from "../deliveries/index.ts";
import { afterCommit, fromJson, insertAll } from "../platform/db/index.ts";
import { conflict } from "../platform/errors.ts";
import type { Runs } from "../runs/index.ts";
import { envelope } from "./envelope.ts";
import { readJson } from "./read-body.ts";
import type { StartRun } from "./start-run.ts";
import { findWebhook, toolsOf } from "./store.ts";

const Slugs = z.array(z.string());

/**
 * Makes another run from what a call had sent: under the name that the webhook had, held to the tools that the first
 * run was held to, as the member who owns the webhook now. Throws 409 when the webhook is deleted or disabled.
 */
export function webhookReplayer({
  runs,
  startRun,
}: {
  runs: Pick<Runs, "find">;
  startRun: StartRun;
}): Replayer {
  async function toolsBefore(runId: string | null): Promise<string[] | null | undefined> {
    const run = runId === null ? undefined : (await runs.find([runId])).get(runId);
    if (!run) return undefined;
    return run.tools_allowed === null ? null : fromJson(Slugs, run.tools_allowed);
  }

  return async (tx, { id, workspace_id, ref, event, run_id }) => {
    const webhook = await findWebhook(tx, workspace_id, ref ?? "");
    if (!webhook)
      throw conflict("The webhook of this delivery is deleted; make a new one and have it sent again.");
    if (webhook.enabled !== 1) throw conflict("The webhook of this delivery is disabled; enable it first.");
    const payload = await readPayload(tx, id);
    if (!payload) return;
    const before = await toolsBefore(run_id);
    const toolsAllowed = before === undefined ? toolsOf(webhook) : (before ?? undefined);
    const message = envelope(event, readJson(payload));
    const { runId, state, reason, unit } = await startRun({ webhook, message, toolsAllowed });
    await unit.run?.(tx);
    await insertAll(tx, unit.rows);
    if (unit.committed) afterCommit(tx, unit.committed);
    await settleDelivery(tx, id, { state, reason, run_id: runId });
  };
}
