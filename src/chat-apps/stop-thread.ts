import { settleDelivery } from "../deliveries/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Tx } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Runs } from "../runs/index.ts";
import {
  openTurns,
  openTurnsOfApp,
  type ThreadRow,
  type TurnRow,
  updateThread,
  updateTurn,
} from "./conversation-store.ts";
import { wakeThread } from "./wake.ts";

export interface StopDeps {
  clock: Clock;
  queue: JobQueue;
  runs: Pick<Runs, "cancelAll">;
}

/**
 * Ends what was said before `ts` in a conversation that the caller has locked: the run under way is cancelled, what waits
 * never begins. False: there was nothing.
 */
export async function stopThread(deps: StopDeps, tx: Tx, thread: ThreadRow, ts: string): Promise<boolean> {
  const before = (await openTurns(tx, thread.id)).filter((turn) => turn.message_ts < ts);
  const runIds = before.flatMap(({ state, run_id }) => (state === "running" && run_id ? [run_id] : []));
  const waiting = before.filter(({ state }) => state === "waiting" || state === "choosing");
  if (runIds.length > 0) await deps.runs.cancelAll(tx, runIds);
  for (const turn of waiting) await dismissTurn(deps, tx, turn, "It was stopped before it began.");
  if (thread.stopped_before === null || thread.stopped_before < ts)
    await updateThread(tx, thread.id, { stopped_before: ts });
  await wakeThread(tx, deps, thread);
  return runIds.length > 0 || waiting.length > 0;
}

/** Ends a turn that has not begun; `state` is how its delivery ends. False: it has begun, or it is over. */
export async function dismissTurn(
  { clock }: Pick<StopDeps, "clock">,
  tx: Tx,
  turn: TurnRow,
  reason: string,
  state: "done" | "ignored" = "ignored",
): Promise<boolean> {
  if (!(await updateTurn(tx, turn, { state: "done", reason, updated_at: clock() }))) return false;
  await settleDelivery(tx, turn.delivery_id, { state, reason });
  return true;
}

/** Ends all that is open in an app's conversations, where nobody can be answered any more. Runs go on. */
export async function endOpenTurns(
  { clock }: Pick<StopDeps, "clock">,
  tx: Tx,
  chatAppId: string,
  reason: string,
): Promise<void> {
  for (const turn of await openTurnsOfApp(tx, chatAppId)) {
    const ended = await updateTurn(tx, turn, { state: "done", reason, updated_at: clock() });
    if (ended && turn.run_id === null)
      await settleDelivery(tx, turn.delivery_id, { state: "ignored", reason });
  }
}
