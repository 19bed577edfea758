import type { JobRepository } from "agenda";
import { errorText } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { WakeStore } from "./wake-store.ts";

/** What `WakeUps.state` tells. */
export interface StoreState {
  store: WakeStore["kind"];
  connected: boolean;
  /** Why it is not connected, as its driver says. Absent as long as nothing was tried. */
  error?: string;
}

export interface StoreHealth {
  state(): StoreState;
  succeeded(): void;
  failed(error: unknown): void;
  /** It failed just now: asking it again would keep the caller waiting for nothing. */
  resting(): boolean;
}

const restMs = 2_000;

/** Remembers how the store did last, and logs when that changes. `lost` is called with every failure. */
export function createStoreHealth(store: WakeStore["kind"], logger: Logger, lost: () => void): StoreHealth {
  let connected = store === "sql";
  let error: string | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  return {
    state: () => ({ store, connected, ...(error === undefined ? {} : { error }) }),
    succeeded() {
      if (error !== undefined) logger.info({ store }, "the scheduler's store is back");
      connected = true;
      error = undefined;
      failedAt = Number.NEGATIVE_INFINITY;
    },
    failed(cause) {
      const known = error !== undefined;
      connected = false;
      error = errorText(cause);
      failedAt = performance.now();
      if (!known) logger.warn({ err: cause, store }, "the scheduler's store is away; wake-ups may be late");
      lost();
    },
    resting: () => performance.now() - failedAt < restMs,
  };
}

/**
 * The repository as Agenda gets it: tells the health of the calls that come all the time, never has two polls
 * under way (a stalled store would pile them up), and keeps the failure of a call that Agenda does not
 * wait for from ending the process.
 */
export function watchRepository({ backend, open }: WakeStore, health: StoreHealth): JobRepository {
  const { repository } = backend;
  let polling = false;
  const watched = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      const result = await call();
      health.succeeded();
      return result;
    } catch (error) {
      health.failed(error);
      throw error;
    }
  };
  const calls: Partial<JobRepository> = {
    async getNextJobToRun(...args) {
      if (polling) return undefined;
      polling = true;
      try {
        return await watched(async () => {
          await open();
          return repository.getNextJobToRun(...args);
        });
      } finally {
        polling = false;
      }
    },
    async unlockJob(job) {
      await watched(() => repository.unlockJob(job)).catch(() => {});
    },
  };
  return Object.assign(Object.create(repository), calls);
}
