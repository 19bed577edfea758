import { settleDelivery } from "../deliveries/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { sha256 } from "../platform/secrets.ts";
import type { RunProgress, Runs } from "../runs/index.ts";
import { askWhich } from "./choose-agent.ts";
import { progressOf } from "./conversation.ts";
import { choiceOf, lockThread, type TurnRow, updateTurn } from "./conversation-store.ts";
import { ChatFailure, type ChatPlatforms } from "./platforms/index.ts";
import type { ProgressPauses } from "./progress-pace.ts";
import type { ChatAppRow } from "./store.ts";
import type { ThreadContext } from "./take-turn.ts";
import type { WithToken } from "./tokens.ts";

export interface PostDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  runs: Pick<Runs, "find" | "progress">;
  platforms: ChatPlatforms;
  withToken: WithToken;
  pauses: ProgressPauses;
}

/** Messages that one answer is posted in at the most. */
const mostParts = 15;

/** For how long no progress is shown after a call that the platform did not take, if it asks for no longer. */
const leastPauseMs = 2_000;

/** After this long nobody waits for an answer any more, and its conversation goes on without it. */
const giveUpMs = 24 * 60 * 60_000;

/**
 * Posts an answer and ends the turn: its first part takes the place of the message that said to wait, if there is one.
 * What was posted is stored after each part. A process that dies between the two posts that part again: platforms offer no
 * key that would tell.
 */
export async function postAnswer(
  deps: PostDeps,
  context: ThreadContext,
  turn: TurnRow,
  markdown: string,
): Promise<boolean> {
  const { app } = context;
  if (!app) return giveUp(deps, context, turn, "The chat app was deleted.");
  if (app.state !== "live") return giveUp(deps, context, turn, "The chat app is not installed.");
  return attempt(deps, context, turn, () => postParts(deps, { ...context, app }, turn, markdown));
}

async function postParts(
  deps: PostDeps,
  context: ThreadContext & { app: ChatAppRow },
  turn: TurnRow,
  markdown: string,
): Promise<void> {
  const { render } = deps.platforms[context.app.platform];
  const all = render(markdown);
  const rest = `The answer goes on in the run ${turn.run_id ?? ""}.`;
  const parts = all.length <= mostParts ? all : [...all.slice(0, mostParts - 1), ...render(rest)];
  let reply = turn.reply_ts;
  for (const [index, text] of parts.entries()) {
    if (index < turn.posted) continue;
    if (index === 0) reply = await say(deps, context, reply, text);
    else await say(deps, context, null, text);
    const last = index === parts.length - 1;
    const change = { posted: index + 1, reply_ts: reply, ...(last ? { state: "done" as const } : {}) };
    if (!(await store(deps, context, turn, change))) return;
  }
}

/**
 * Shows how far a run is: what it has said so far or, until it says something, the tool that was called last. What the
 * platform does not take now is dropped: the next look shows more. False: nothing was shown.
 */
export async function showProgress(
  deps: PostDeps,
  context: ThreadContext,
  turn: TurnRow,
  { tools, text }: RunProgress,
): Promise<boolean> {
  const { app } = context;
  if (app?.state !== "live" || deps.pauses.leftMs(app.id) > 0) return false;
  const platform = deps.platforms[app.platform];
  const shown = platform.renderPartial(text) || platform.render(progressOf(tools)).join("\n");
  const progress = sha256(shown);
  if (progress === turn.progress) return false;
  let reply_ts = turn.reply_ts;
  try {
    reply_ts = await say(deps, { ...context, app }, reply_ts, shown);
  } catch (error) {
    if (!(error instanceof ChatFailure)) throw error;
    if (isPassing(error)) return false;
    // It is no answer: whether that can be posted will be seen.
  }
  return store(deps, context, turn, { progress, reply_ts });
}

/** Asks in the conversation which agent is meant. */
export async function postQuestion(deps: PostDeps, context: ThreadContext, turn: TurnRow): Promise<boolean> {
  const { app } = context;
  if (app?.state !== "live") return giveUp(deps, context, turn, "The chat app is not installed.");
  return attempt(deps, context, turn, async () => {
    const [text = ""] = deps.platforms[app.platform].render(askWhich(choiceOf(turn)));
    const reply_ts = await say(deps, { ...context, app }, null, text);
    await store(deps, context, turn, { reply_ts });
  });
}

/** Changes that message, or posts one where there is none or it is gone. Returns the message's name. */
async function say(
  { withToken, pauses }: PostDeps,
  { app, thread: { channel, thread } }: ThreadContext & { app: ChatAppRow },
  ts: string | null,
  text: string,
): Promise<string> {
  try {
    return await withToken(app, async (platform, token) => {
      if (ts === null) return platform.post(token, { channel, thread, text });
      try {
        await platform.update(token, { channel, ts, text });
        return ts;
      } catch (error) {
        if (!(error instanceof ChatFailure) || error.kind !== "gone") throw error;
        return platform.post(token, { channel, thread, text });
      }
    });
  } catch (error) {
    // Whatever it was, no progress may take from answers what the platform has left.
    if (error instanceof ChatFailure && isPassing(error))
      pauses.pause(app.id, Math.max(error.retryAfterMs, leastPauseMs));
    throw error;
  }
}

async function attempt(
  deps: PostDeps,
  context: ThreadContext,
  turn: TurnRow,
  work: () => Promise<void>,
): Promise<true> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof ChatFailure)) throw error;
    if (isPassing(error) && deps.clock() - turn.updated_at < giveUpMs) throw error;
    return giveUp(deps, context, turn, error.message);
  }
}

const isPassing = ({ kind }: ChatFailure) => kind === "rate_limited" || kind === "unavailable";

/** Ends a turn whose answer nobody gets to see, and says so where admins look. */
async function giveUp(deps: PostDeps, context: ThreadContext, turn: TurnRow, why: string): Promise<true> {
  const reason = `The answer could not be posted. ${why}`;
  deps.logger.warn({ thread: context.thread.id, reason: why }, "an answer could not be posted in a chat");
  const state = turn.run_id === null ? { state: "ignored" as const } : {};
  await deps.db.transaction(async (tx) => {
    await lockThread(tx, context.thread.id);
    const ended = await updateTurn(tx, turn, { state: "done", reason, updated_at: deps.clock() });
    if (ended) await settleDelivery(tx, turn.delivery_id, { ...state, reason });
    await context.hold(tx);
  });
  return true;
}

/** False: the turn was ended by somebody else meanwhile. */
async function store(
  { db }: PostDeps,
  { thread, hold }: ThreadContext,
  turn: TurnRow,
  change: Partial<TurnRow>,
): Promise<boolean> {
  return db.commit({
    async run(tx) {
      await lockThread(tx, thread.id);
      const stored = await updateTurn(tx, turn, change);
      await hold(tx);
      return stored;
    },
  });
}
