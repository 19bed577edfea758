import { type Replayer, reopenDelivery } from "../deliveries/index.ts";
import { conflict } from "../platform/errors.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { dispatchJobKind } from "./dispatch-job.ts";
import { readEvent } from "./stored-event.ts";

/** Has an event looked at once more, for the trigger as it is by then. Throws 409 for what was never to start a run. */
export function triggerReplayer({ queue }: { queue: JobQueue }): Replayer {
  return async (tx, { id, workspace_id: workspaceId }) => {
    const event = await readEvent(tx, id);
    if (!event) return;
    // What the provider said of itself then may be long over.
    if (event.kind !== "trigger")
      throw conflict("Only events of triggers can be replayed; this one starts no run.");
    await reopenDelivery(tx, id);
    await queue.enqueue(tx, { kind: dispatchJobKind, payload: { deliveryId: id, workspaceId } });
  };
}
