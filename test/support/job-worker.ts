import { onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import {
  createJobQueue,
  createWorker,
  type JobKind,
  type JobQueue,
  type Worker,
  type WorkerOptions,
} from "../../src/platform/jobs/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";

export type Outcome = "done" | "retried" | "dead" | "lost";

export interface TestWorker {
  readonly queue: JobQueue;
  readonly worker: Worker;
  /** How each execution ended so far. */
  readonly outcomes: readonly Outcome[];
  /** Resolves when that many executions have ended this way; throws when they have not within 15 s. */
  reached(outcome: Outcome, count: number): Promise<void>;
}

type Settings = Partial<Pick<WorkerOptions, "pollMs" | "leaseMs" | "renewMs" | "sweepMs" | "abandonMs">>;

/** Periods that never come round during a test: what happens then was caused by an event. */
export const never = 2 ** 30;

/** A worker that looks, renews and sweeps only when it is told to, unless `settings` says otherwise. */
export function createTestWorker(db: Database, settings: Settings = {}): TestWorker {
  const outcomes: Outcome[] = [];
  const watchers = new Set<() => void>();
  const ids = createIds();
  const queue = createJobQueue(db, ids, systemClock);
  const worker = createWorker({
    db,
    queue,
    ids,
    logger: createLogger("silent", createRedactor()),
    events: {
      claimed() {},
      finished(_kind, outcome) {
        outcomes.push(outcome);
        for (const look of watchers) look();
      },
    },
    pollMs: never,
    renewMs: never,
    sweepMs: never,
    ...settings,
  });
  onTestFinished(() => worker.stop(0));
  return {
    queue,
    worker,
    outcomes,
    async reached(outcome, count) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (outcomes.filter((each) => each === outcome).length >= count) resolve();
      };
      const timer = setTimeout(
        () => reject(new Error(`Waited for ${count} ${outcome}: ${outcomes.join(" ")}`)),
        15_000,
      );
      watchers.add(look);
      look();
      await promise.finally(() => {
        clearTimeout(timer);
        watchers.delete(look);
      });
    },
  };
}

/** A promise that a test settles at the moment it chooses. */
export function gate<T = void>() {
  return Promise.withResolvers<T>();
}

const AnyNumber = z.number();
export type NumberKind = JobKind<typeof AnyNumber>;

/** A kind `count` whose payload is a number; tried three times without waiting, five at a time. */
export const kindOf = (handle: NumberKind["handle"], settings: Partial<NumberKind> = {}): NumberKind => ({
  kind: "count",
  payload: AnyNumber,
  concurrency: 5,
  maxAttempts: 3,
  backoff: { base: 0, cap: 0 },
  handle,
  ...settings,
});

/** Adds jobs of the kind `count` in one transaction. */
export const enqueue = (db: Database, { queue }: TestWorker, payloads: readonly unknown[]) =>
  db.transaction(async (tx) => {
    for (const payload of payloads) await queue.enqueue(tx, { kind: "count", payload });
  });
