import { Agenda } from "agenda";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/index.ts";
import type { Logger } from "../logger.ts";
import { createEnsure } from "./ensure.ts";
import { openMongoStore } from "./mongo-store.ts";
import { createStoreHealth, type StoreState, watchRepository } from "./store-health.ts";
import { openSqlStore } from "./wake-store.ts";

export interface WakeUps {
  /**
   * Makes sure that some process which has called `start` is woken at each of these instants (epoch
   * milliseconds) or within 200 ms after, and soon for those that have passed. Never throws: what is lost
   * costs latency, and is made good by asking again. Waits for the store for some seconds at the most, so
   * not to be called inside a transaction. Without instants it only looks whether the store is there.
   */
  ensure(instants: readonly number[]): Promise<void>;
  /**
   * `onWake` is called in this process when an instant has come. It has to be quick and idempotent: instants
   * close together share a call, and a process that died leaves its calls to be repeated elsewhere.
   */
  start(onWake: () => void): Promise<void>;
  /** Afterwards nothing is woken here. Takes three seconds at the most, whatever the store does. */
  stop(): Promise<void>;
  /** How the store did when it was last used. */
  state(): StoreState;
}

export interface WakeUpsOptions {
  db: Database;
  logger: Logger;
  clock: Clock;
  /** Undefined: wake-ups are kept in `db`. */
  mongoUrl: string | undefined;
  /** How long a process that died keeps others from its wake-ups, milliseconds. */
  lockLifetimeMs?: number;
}

const wakeJob = "wake-up";

/** How often Agenda looks for what has become due, milliseconds. */
const pollMs = 500;

/** Wake-ups that one process takes, and executes, at a time. */
const batch = 50;

/**
 * The clock: instants in, calls out, on Agenda. Nothing here is the record of anything; see
 * docs/adr/0020-clock-documents-are-instants.md. Throws ConfigError when `mongoUrl` cannot be understood.
 */
export function createWakeUps({
  db,
  logger,
  clock,
  mongoUrl,
  lockLifetimeMs = 30_000,
}: WakeUpsOptions): WakeUps {
  const store = mongoUrl === undefined ? openSqlStore(db) : openMongoStore(mongoUrl);
  const health = createStoreHealth(store.kind, logger, () => ensured.forget());
  const agenda = new Agenda({
    backend: { ...store.backend, repository: watchRepository(store, health) },
    processEvery: pollMs,
    maxConcurrency: batch,
  });
  agenda.on("error", (error) => logger.debug({ err: error }, "a wake-up was not looked for or not finished"));
  const ensured = createEnsure({ agenda, store, health, clock, wakeJob });
  let stopped = false;

  function wake(onWake: () => void): void {
    if (stopped) return;
    try {
      onWake();
    } catch (error) {
      // A job that fails would stay as a document that nobody looks at.
      logger.error({ err: error }, "what a wake-up starts has failed");
    }
  }

  return {
    async ensure(instants) {
      if (!stopped) await ensured.ensure(instants);
    },
    async start(onWake) {
      if (stopped) return;
      const limits = { lockLifetime: lockLifetimeMs, concurrency: batch, lockLimit: batch };
      agenda.define(wakeJob, async () => wake(onWake), { ...limits, removeOnComplete: true });
      await agenda.start();
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      await atMost(2_000, agenda.stop());
      await atMost(1_000, store.close());
    },
    state: health.state,
  };
}

/** Waits for the work, but not longer than that, and does not mind its failure. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}
