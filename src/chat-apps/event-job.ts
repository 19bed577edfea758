import { z } from "zod";
import { failDelivery, settleDelivery } from "../deliveries/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import { type Job, type JobKind, type JobQueue, RetryLater } from "../platform/jobs/index.ts";
import type { Runs } from "../runs/index.ts";
import { isStop } from "./choose-agent.ts";
import { findTurnAt, insertTurn, lockThreadAt, type ThreadRow, type TurnRow } from "./conversation-store.ts";
import { type ChatEvent, ChatFailure, type ChatPlatforms } from "./platforms/index.ts";
import { stopThread } from "./stop-thread.ts";
import { type ChatAppRow, findCalled, updateAsOf } from "./store.ts";
import { readEvent } from "./stored-event.ts";
import type { WithToken } from "./tokens.ts";
import { wakeThread } from "./wake.ts";

export interface EventJobDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  queue: JobQueue;
  withToken: WithToken;
  platforms: ChatPlatforms;
  runs: Pick<Runs, "cancelAll">;
}

/** The kind of job that works a stored event off. */
export const eventJobKind = "chat.event";

const Payload = z.object({ deliveryId: z.string(), chatAppId: z.string() });

type Message = Extract<ChatEvent, { kind: "message" }>;

/** Why nothing comes of an event, or what has; undefined: a message that waits for its turn. */
type Outcome = { state: "done" | "ignored"; reason: string } | undefined;

/**
 * Works an event off: a message is put in its conversation, where it waits for its turn. That, the delivery's end and
 * the job's end are one commit.
 */
export function eventJob(deps: EventJobDeps): JobKind<typeof Payload> {
  return {
    kind: eventJobKind,
    payload: Payload,
    concurrency: 20,
    maxAttempts: 10,
    backoff: { base: 500, cap: 60_000 },
    handle: (job) => handle(deps, job),
    onDead: (tx, { deliveryId }, error) => failDelivery(tx, deliveryId, error),
  };
}

async function handle(deps: EventJobDeps, job: Job<z.infer<typeof Payload>>): Promise<void> {
  const { deliveryId, chatAppId } = job.payload;
  const event = await readEvent(deps.db.read, deliveryId);
  if (!event) return;
  const app = (await findCalled(deps.db.read, [chatAppId])).get(chatAppId);
  const lost = event.kind === "removed" && app?.state === "live" && (await hasLostToken(deps, app));
  await deps.db.commit({
    async run(tx) {
      const outcome = await workOff(deps, tx, app, event, { deliveryId, lost });
      await settleDelivery(tx, deliveryId, outcome ?? {});
      await job.complete(tx);
    },
  });
}

async function workOff(
  deps: EventJobDeps,
  tx: Tx,
  app: ChatAppRow | undefined,
  event: ChatEvent,
  { deliveryId, lost }: { deliveryId: string; lost: boolean },
): Promise<Outcome> {
  if (!app) return ignored("The chat app was deleted.");
  if (event.kind === "other") return ignored(event.why);
  if (app.team_id !== null && event.teamId !== app.team_id)
    return ignored("It comes from another workspace of the platform than the app is installed in.");
  if (app.state !== "live") return ignored("The chat app is not installed.");
  if (event.kind === "removed") return lost ? explainLoss(tx, app, event) : ignored(installedSince);
  if (event.userTeamId !== app.team_id) return ignored("Its author belongs to another workspace.");
  if (event.user === app.bot_user_id) return ignored("The bot itself wrote the message.");
  return listen(deps, tx, app, event, deliveryId);
}

async function listen(
  deps: EventJobDeps,
  tx: Tx,
  app: ChatAppRow,
  event: Message,
  deliveryId: string,
): Promise<Outcome> {
  const text = deps.platforms[app.platform].plainText(event.text, app.bot_user_id ?? "");
  // What goes on when an app is disabled goes on, and can be stopped.
  if (app.enabled !== 1 && !isStop(text)) return ignored("The chat app is disabled.");
  const thread = await threadAt(deps, tx, app, event);
  if (await findTurnAt(tx, thread.id, event.ts))
    return ignored("The same message has come as another event.");
  const turn = newTurn(deps, thread, event, deliveryId, text);
  if (isStop(text)) return stop(deps, tx, app, thread, turn);
  // Events do not have to arrive in the order in which things happened.
  if (thread.stopped_before !== null && event.ts < thread.stopped_before)
    return ignored("It was stopped before it began.");
  await insertTurn(tx, turn);
  await wakeThread(tx, deps, thread);
  return undefined;
}

/** A message that asks for an end; it is kept as a turn, so that the same as another event says nothing again. */
async function stop(
  deps: EventJobDeps,
  tx: Tx,
  app: ChatAppRow,
  thread: ThreadRow,
  turn: TurnRow,
): Promise<Outcome> {
  if (await stopThread(deps, tx, thread, turn.message_ts)) {
    await insertTurn(tx, { ...turn, state: "done", reason: "It stopped what was under way." });
    return { state: "done", reason: "It stopped what was under way." };
  }
  if (app.enabled === 1) {
    await insertTurn(tx, { ...turn, state: "answering", notice: "Nothing is under way in this thread." });
    await wakeThread(tx, deps, thread);
  }
  return ignored("There was nothing to stop.");
}

/**
 * Whether the app's token is no good any more, which is noted then (tokens.ts). Times would not tell: the event may be
 * of an installation, or of a token, before the one there is, and clocks differ.
 */
async function hasLostToken({ withToken }: EventJobDeps, app: ChatAppRow): Promise<boolean> {
  try {
    await withToken(app, (platform, token) => platform.check(token));
    return false;
  } catch (error) {
    if (!(error instanceof ChatFailure)) throw error;
    if (error.kind === "unauthorised") return true;
    throw new RetryLater(error.message, error.retryAfterMs);
  }
}

const installedSince = "The app was installed again since, or has another token.";

/** Says why where it was only noted that the token is no good. */
async function explainLoss(
  tx: Tx,
  { id, token_revision }: ChatAppRow,
  { why }: Extract<ChatEvent, { kind: "removed" }>,
): Promise<Outcome> {
  const noted = { id, token_revision: token_revision + 1 };
  const explained = await updateAsOf(tx, noted, { state_reason: why });
  return explained ? { state: "done", reason: why } : ignored(installedSince);
}

function threadAt(
  { ids, clock }: EventJobDeps,
  tx: Tx,
  app: ChatAppRow,
  { channel, thread }: { channel: string; thread: string },
): Promise<ThreadRow> {
  const now = clock();
  return lockThreadAt(tx, {
    ...{ id: ids("cht"), workspace_id: app.workspace_id, chat_app_id: app.id, channel, thread },
    ...{ agent: null, stopped_before: null, revision: 0, created_at: now, updated_at: now },
  });
}

function newTurn(
  { ids, clock }: EventJobDeps,
  { id, chat_app_id }: ThreadRow,
  event: Message,
  deliveryId: string,
  text: string,
): TurnRow {
  const now = clock();
  return {
    ...{ id: ids("ctn"), thread_id: id, chat_app_id, delivery_id: deliveryId },
    ...{ user_id: event.user, message_ts: event.ts, body: text, state: "waiting" },
    ...{ agent: null, choice: null, run_id: null, notice: null, reply_ts: null, progress: null, posted: 0 },
    ...{ reason: null, created_at: now, updated_at: now },
  };
}

const ignored = (reason: string) => ({ state: "ignored", reason }) as const;
