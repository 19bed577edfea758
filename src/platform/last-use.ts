import type { Clock } from "./clock.ts";
import type { Database, Tx } from "./db/index.ts";
import { errorText } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** Keeps when each of many things was last used, without any request waiting for it. */
export interface LastUse {
  /** `lastUsedAt` is what the database has. Writes at most once a minute for each id. Never throws. */
  note(id: string, lastUsedAt: number | null): void;
  /** Writes what is noted, once. Never throws. */
  flush(): Promise<void>;
}

export interface LastUseDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  write(tx: Tx, ids: readonly string[], now: number): Promise<void>;
}

const accuracyMs = 60_000;
/** Uses of this long are gathered into one statement. */
const gatherMs = 1_000;

export function createLastUse({ db, clock, logger, write }: LastUseDeps): LastUse {
  const noted = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const ids = [...noted];
    if (ids.length === 0) return;
    const now = clock();
    try {
      await db.commit({ run: (tx) => write(tx, ids, now) });
    } catch (error) {
      logger.warn({ reason: errorText(error), count: ids.length }, "instants of last use not kept");
    }
    // Only now: until the commit is visible, requests still read the old instant and would note the id again.
    for (const id of ids) noted.delete(id);
  }

  return {
    note(id, lastUsedAt) {
      if (noted.has(id) || (lastUsedAt !== null && clock() - lastUsedAt < accuracyMs)) return;
      noted.add(id);
      timer ??= setTimeout(() => void flush(), gatherMs).unref();
    },
    flush,
  };
}
