import { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { JobKind, JobQueue, JobRequest } from "../platform/jobs/index.ts";
import type { FollowUps } from "../runs/index.ts";
import { findTurnOfRun, lockThread, type ThreadRow, updateThread } from "./conversation-store.ts";

/** The kind of job that works a conversation off, one a conversation. */
export const threadJobKind = "chat.thread";

const wakeJobKind = "chat.wake";

export interface WakeDeps {
  db: Database;
  clock: Clock;
  queue: JobQueue;
}

/**
 * Has a conversation worked off once the transaction is committed. The caller has locked it: whoever works it off now
 * sees the new revision before ending.
 */
export async function wakeThread(
  tx: Tx,
  { clock, queue }: Omit<WakeDeps, "db">,
  { id, revision }: Pick<ThreadRow, "id" | "revision">,
): Promise<void> {
  await updateThread(tx, id, { revision: revision + 1, updated_at: clock() });
  const uniqueKey = `${threadJobKind}:${id}`;
  await queue.enqueue(tx, { kind: threadJobKind, payload: { threadId: id }, uniqueKey });
}

/** After each run that a chat app has started: its conversation goes on. */
export const followChatRuns: FollowUps = ({ id, trigger }) =>
  trigger === "chat" ? [{ kind: wakeJobKind, payload: { runId: id } }] : [];

/** Looks at a conversation again after a while; one such look is planned at a time. */
export const laterLook = (threadId: string, delayMs: number): JobRequest => ({
  kind: wakeJobKind,
  payload: { threadId },
  uniqueKey: `${wakeJobKind}:${threadId}`,
  delayMs,
});

const Payload = z.union([z.object({ runId: z.string() }), z.object({ threadId: z.string() })]);

/** The conversation that has to be looked at; undefined when it has gone on already. */
async function sleeping({ db }: WakeDeps, payload: z.infer<typeof Payload>): Promise<string | undefined> {
  if ("threadId" in payload) return payload.threadId;
  const turn = await findTurnOfRun(db.read, payload.runId);
  return turn?.state === "done" ? undefined : turn?.thread_id;
}

export function wakeJob(deps: WakeDeps): JobKind<typeof Payload> {
  const { db } = deps;
  return {
    kind: wakeJobKind,
    payload: Payload,
    concurrency: 20,
    maxAttempts: 1_000,
    backoff: { base: 200, cap: 10_000 },
    async handle({ payload, complete }) {
      const threadId = await sleeping(deps, payload);
      await db.commit({
        async run(tx) {
          const thread = threadId === undefined ? undefined : await lockThread(tx, threadId);
          if (thread) await wakeThread(tx, deps, thread);
          await complete(tx);
        },
      });
    },
  };
}
