import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { setLastUsed } from "./key-store.ts";

/** Keeps when each key was last used, without any request waiting for it. */
export interface KeyUsage {
  /** `lastUsedAt` is what the database has. Writes at most once a minute for each key. Never throws. */
  note(keyId: string, lastUsedAt: number | null): void;
  /** Writes what is noted, once. Never throws. */
  flush(): Promise<void>;
}

const accuracyMs = 60_000;
/** Uses of this long are gathered into one statement. */
const gatherMs = 1_000;

export function createKeyUsage({
  db,
  clock,
  logger,
}: {
  db: Database;
  clock: Clock;
  logger: Logger;
}): KeyUsage {
  const noted = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const keyIds = [...noted];
    if (keyIds.length === 0) return;
    const now = clock();
    try {
      await db.commit({ run: (tx) => setLastUsed(tx, keyIds, now) });
    } catch (error) {
      logger.warn({ err: error, keys: keyIds.length }, "last use of API keys not kept");
    }
    // Only now: until the commit is visible, requests still read the old time and would note the key again.
    for (const keyId of keyIds) noted.delete(keyId);
  }

  return {
    note(keyId, lastUsedAt) {
      if (noted.has(keyId) || (lastUsedAt !== null && clock() - lastUsedAt < accuracyMs)) return;
      noted.add(keyId);
      timer ??= setTimeout(() => void flush(), gatherMs).unref();
    },
    flush,
  };
}
