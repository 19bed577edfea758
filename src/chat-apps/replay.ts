import { type Replayer, reopenDelivery } from "../deliveries/index.ts";
import type { Tx } from "../platform/db/index.ts";
import { conflict } from "../platform/errors.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { deleteTurn, findTurnAt, lockKnownThread } from "./conversation-store.ts";
import { eventJobKind } from "./event-job.ts";
import type { ChatEvent } from "./platforms/index.ts";
import { type ChatAppRow, findCalled } from "./store.ts";
import { readEvent } from "./stored-event.ts";

/**
 * Takes a message that led to no run, or to one that could not start, as if it had come now. Throws 409, with what to do
 * instead, for one that was answered, is being answered or cannot be, and for what is no message.
 */
export function chatReplayer({ queue }: { queue: JobQueue }): Replayer {
  return async (tx, { id, ref, state, run_id }) => {
    if (state === "done") throw conflict(overWith(run_id));
    const event = await readEvent(tx, id);
    if (!event) return;
    if (event.kind !== "message")
      throw conflict("Only messages can be replayed; this event asks for no run.");
    const app = usable((await findCalled(tx, [ref ?? ""])).get(ref ?? ""));
    await forgetTurn(tx, app, event, id);
    await reopenDelivery(tx, id);
    await queue.enqueue(tx, { kind: eventJobKind, payload: { deliveryId: id, chatAppId: app.id } });
  };
}

const overWith = (runId: string | null) =>
  runId === null
    ? "The message has done what it asked for; write it again in the chat to have it done again."
    : `The message was answered by the run ${runId}; write it again in the chat for another answer.`;

function usable(app: ChatAppRow | undefined): ChatAppRow {
  if (!app) throw conflict("The chat app was deleted; write the message to another one.");
  if (app.state !== "live") throw conflict("The chat app is not installed; install it and replay then.");
  if (app.enabled !== 1) throw conflict("The chat app is disabled; enable it and replay then.");
  return app;
}

/** Makes room for the message's next try. The conversation stays locked. */
async function forgetTurn(
  tx: Tx,
  app: ChatAppRow,
  { channel, thread: name, ts }: Extract<ChatEvent, { kind: "message" }>,
  deliveryId: string,
): Promise<void> {
  const thread = await lockKnownThread(tx, { chat_app_id: app.id, channel, thread: name });
  if (!thread) return;
  if (thread.stopped_before !== null && ts < thread.stopped_before)
    throw conflict("The conversation was stopped after this message; write it again in the chat.");
  const turn = await findTurnAt(tx, thread.id, ts);
  if (turn?.delivery_id !== deliveryId) return;
  if (turn.state !== "done")
    throw conflict("The message is being answered; look at its delivery again in a moment.");
  await deleteTurn(tx, turn.id);
}
