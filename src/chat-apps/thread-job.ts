import { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import { type Job, type JobKind, type JobQueue, RetryLater } from "../platform/jobs/index.ts";
import { isFinal, type Runs } from "../runs/index.ts";
import { answerOf } from "./conversation.ts";
import {
  countRunning,
  findThread,
  lockThread,
  openTurns,
  type ThreadRow,
  type TurnRow,
} from "./conversation-store.ts";
import { ChatFailure } from "./platforms/index.ts";
import { type PostDeps, postAnswer, postQuestion, showProgress } from "./post.ts";
import { lookAgainMs } from "./progress-pace.ts";
import { findCalled } from "./store.ts";
import { begin, pick, type TakeTurnDeps } from "./take-turn.ts";
import { laterLook, threadJobKind } from "./wake.ts";

export interface ThreadJobDeps extends PostDeps, TakeTurnDeps {
  db: Database;
  clock: Clock;
  queue: JobQueue;
  runs: PostDeps["runs"] & TakeTurnDeps["runs"] & Pick<Runs, "waitFor">;
}

const Payload = z.object({ threadId: z.string() });
type ThreadJob = Job<z.infer<typeof Payload>>;

/** It goes on until the conversation is worked off; what cannot be posted is given up by its age (post.ts). */
const maxAttempts = 1_000_000;

/** A run that ends this soon is answered at once, without a message that says to wait. */
const soonSeconds = 0.5;

/**
 * Works a conversation off: its messages one after the other, each to the end of its run. There is one such job for
 * a conversation, which is why nothing is posted twice and answers come in order. It never waits for long: what goes on
 * elsewhere wakes it (wake.ts).
 */
export function threadJob(deps: ThreadJobDeps): JobKind<typeof Payload> {
  return {
    kind: threadJobKind,
    payload: Payload,
    concurrency: 50,
    maxAttempts,
    backoff: { base: 500, cap: 60_000 },
    handle: (job) => workOff(deps, job),
  };
}

async function workOff(deps: ThreadJobDeps, job: ThreadJob): Promise<void> {
  for (;;) {
    job.signal.throwIfAborted();
    const thread = await findThread(deps.db.read, job.payload.threadId);
    if (!thread) return;
    const turns = await openTurns(deps.db.read, thread.id);
    const more = await step(deps, job, thread, turns).catch((error) => {
      // The queue is what waits.
      throw error instanceof ChatFailure ? new RetryLater(error.message, error.retryAfterMs) : error;
    });
    if (!more && (await settle(deps, job, thread, turns))) return;
  }
}

/** Does what is next. False: nothing is, until something happens. */
async function step(
  deps: ThreadJobDeps,
  job: ThreadJob,
  thread: ThreadRow,
  turns: readonly TurnRow[],
): Promise<boolean> {
  const inState = (...states: TurnRow["state"][]) => turns.find(({ state }) => states.includes(state));
  const [active, waiting] = [inState("running", "answering"), inState("waiting")];
  const unasked = turns.find(({ state, reply_ts }) => state === "choosing" && reply_ts === null);
  if (!active && !unasked && !waiting) return false;
  const app = (await findCalled(deps.db.read, [thread.chat_app_id])).get(thread.chat_app_id);
  const context = { thread, app, hold: job.hold };
  if (active) return follow(deps, job, context, active);
  if (unasked) return postQuestion(deps, context, unasked);
  if (!waiting) return false;
  const choosing = turns.find((turn) => turn.state === "choosing" && mayAnswer(turn, waiting));
  return choosing ? pick(deps, context, choosing, waiting) : begin(deps, context, waiting);
}

/** The run will run as whoever asked for it: nobody else chooses its agent. */
const mayAnswer = (choosing: TurnRow, { user_id, message_ts }: TurnRow) =>
  choosing.user_id === user_id && choosing.message_ts < message_ts;

async function follow(
  deps: ThreadJobDeps,
  job: ThreadJob,
  context: Parameters<typeof postAnswer>[1],
  turn: TurnRow,
): Promise<boolean> {
  if (turn.state === "answering" || turn.run_id === null)
    return postAnswer(deps, context, turn, turn.notice ?? "");
  const runId = turn.run_id;
  const run =
    turn.reply_ts === null
      ? await deps.runs.waitFor(context.thread.workspace_id, runId, soonSeconds, job.signal)
      : (await deps.runs.find([runId])).get(runId);
  if (!run) return postAnswer(deps, context, turn, "The run is gone.");
  if (isFinal(run)) return postAnswer(deps, context, turn, answerOf(run));
  return showProgress(deps, context, turn, await deps.runs.progress(runId));
}

/** Ends the job, unless something has happened in the conversation since it was read. */
async function settle(
  deps: ThreadJobDeps,
  job: ThreadJob,
  seen: ThreadRow,
  turns: readonly TurnRow[],
): Promise<boolean> {
  const running = turns.find(({ state }) => state === "running");
  const delayMs = running ? await untilNextLook(deps, running) : undefined;
  return deps.db.commit({
    async run(tx) {
      const thread = await lockThread(tx, seen.id);
      if (thread && thread.revision !== seen.revision) return false;
      if (delayMs !== undefined) await deps.queue.enqueue(tx, laterLook(seen.id, delayMs));
      await job.complete(tx);
      return true;
    },
  });
}

/** Undefined when nobody would see what there is. */
async function untilNextLook(deps: ThreadJobDeps, running: TurnRow): Promise<number | undefined> {
  const { chat_app_id: appId, created_at } = running;
  const app = (await findCalled(deps.db.read, [appId])).get(appId);
  if (!app) return undefined;
  const underWay = await countRunning(deps.db.read, appId);
  const { updatesPerMinute } = deps.platforms[app.platform];
  const own = lookAgainMs(deps.clock() - created_at, underWay, updatesPerMinute);
  return Math.max(own, deps.pauses.leftMs(appId));
}
