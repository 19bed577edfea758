import { z } from "zod";
import { fromJson, type Queryable, type Tx } from "../platform/db/index.ts";

/** A row of `chat_threads`. */
export interface ThreadRow {
  id: string;
  workspace_id: string;
  chat_app_id: string;
  channel: string;
  thread: string;
  agent: string | null;
  /** Messages before this one were stopped. */
  stopped_before: string | null;
  revision: number;
  created_at: number;
  updated_at: number;
}

/**
 * `waiting` for its turn, `choosing` until somebody has picked an agent, `running`, `answering` where there is no run but
 * something to say, `done`.
 */
export type TurnState = "waiting" | "choosing" | "running" | "answering" | "done";

/** A row of `chat_turns`: one message of a user and what has become of it. */
export interface TurnRow {
  id: string;
  thread_id: string;
  chat_app_id: string;
  delivery_id: string;
  user_id: string;
  message_ts: string;
  body: string;
  state: TurnState;
  agent: string | null;
  /** JSON of names. */
  choice: string | null;
  run_id: string | null;
  notice: string | null;
  reply_ts: string | null;
  /** Hash of what that message shows while a run goes on. */
  progress: string | null;
  /** Parts of the answer that were posted. */
  posted: number;
  reason: string | null;
  created_at: number;
  updated_at: number;
}

const Names = z.array(z.string());
export const choiceOf = ({ choice }: Pick<TurnRow, "choice">): string[] =>
  choice === null ? [] : fromJson(Names, choice);

export async function findThread(q: Queryable, id: string): Promise<ThreadRow | undefined> {
  return q("chat_threads").where({ id }).first();
}

/** The conversation at a place, made unless it is there, locked until the transaction ends. */
export async function lockThreadAt(tx: Tx, fresh: ThreadRow): Promise<ThreadRow> {
  const known = await lockKnownThread(tx, fresh);
  if (known) return known;
  // Another process may be making it at this moment.
  await tx("chat_threads").insert(fresh).onConflict(["chat_app_id", "channel", "thread"]).ignore();
  return (await lockKnownThread(tx, fresh)) ?? fresh;
}

/** The conversation at a place, if there is one, locked until the transaction ends. */
export async function lockKnownThread(
  tx: Tx,
  { chat_app_id, channel, thread }: Pick<ThreadRow, "chat_app_id" | "channel" | "thread">,
): Promise<ThreadRow | undefined> {
  return tx("chat_threads").where({ chat_app_id, channel, thread }).forUpdate().first();
}

/** The conversation, locked until the transaction ends. */
export async function lockThread(tx: Tx, id: string): Promise<ThreadRow | undefined> {
  return tx("chat_threads").where({ id }).forUpdate().first();
}

export async function updateThread(tx: Tx, id: string, change: Partial<ThreadRow>): Promise<void> {
  await tx("chat_threads").where({ id }).update(change);
}

/** Throws a unique violation when the message has a turn already. */
export async function insertTurn(tx: Tx, row: TurnRow): Promise<void> {
  await tx("chat_turns").insert(row);
}

export async function deleteTurn(tx: Tx, id: string): Promise<void> {
  await tx("chat_turns").where({ id }).delete();
}

export async function findTurnAt(
  q: Queryable,
  threadId: string,
  messageTs: string,
): Promise<TurnRow | undefined> {
  return q("chat_turns").where({ thread_id: threadId, message_ts: messageTs }).first();
}

export async function findTurnOfRun(q: Queryable, runId: string): Promise<TurnRow | undefined> {
  return q("chat_turns").where({ run_id: runId }).first();
}

/** Turns of a conversation that are not done, in the order in which they were said. */
export async function openTurns(q: Queryable, threadId: string): Promise<TurnRow[]> {
  return q("chat_turns").where({ thread_id: threadId }).whereNot({ state: "done" }).orderBy("message_ts");
}

/** Turns of an app that are not done. */
export async function openTurnsOfApp(q: Queryable, chatAppId: string): Promise<TurnRow[]> {
  return q("chat_turns").where({ chat_app_id: chatAppId }).whereNot({ state: "done" }).orderBy("id");
}

/** In how many conversations of an app a run goes on. */
export async function countRunning(q: Queryable, chatAppId: string): Promise<number> {
  const [row] = await q("chat_turns").where({ chat_app_id: chatAppId, state: "running" }).count({ n: "*" });
  return Number(row?.n ?? 0);
}

/** The newest turns before a message that led to runs, in the order in which they were said. */
export async function turnsBefore(
  q: Queryable,
  threadId: string,
  messageTs: string,
  limit: number,
): Promise<TurnRow[]> {
  const rows: TurnRow[] = await q("chat_turns")
    .where({ thread_id: threadId, state: "done" })
    .where("message_ts", "<", messageTs)
    .whereNotNull("run_id")
    .orderBy("message_ts", "desc")
    .limit(limit);
  return rows.reverse();
}

/** Changes a turn that is still in that state. False: it is not. */
export async function updateTurn(
  tx: Tx,
  { id, state }: Pick<TurnRow, "id" | "state">,
  change: Partial<TurnRow>,
): Promise<boolean> {
  return (await tx("chat_turns").where({ id, state }).update(change)) === 1;
}

const keepMs = 90 * 24 * 60 * 60 * 1000;
const mostAtOnce = 200;

/** Removes conversations in which nothing was said for 90 days, 200 at the most. */
export async function forgetOldConversations(tx: Tx, now: number): Promise<void> {
  const old: string[] = await tx("chat_threads")
    .where("updated_at", "<", now - keepMs)
    .orderBy("updated_at")
    .limit(mostAtOnce)
    .pluck("id");
  if (old.length === 0) return;
  await tx("chat_turns").whereIn("thread_id", old).delete();
  await tx("chat_threads").whereIn("id", old).delete();
}
