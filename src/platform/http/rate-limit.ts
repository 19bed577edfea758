import type { Clock } from "../clock.ts";
import { type Database, isDatabaseAway, isUniqueViolation, type Tx } from "../db/index.ts";
import { AppError, tooMany } from "../errors.ts";

const windowMs = 60_000;

export interface RateLimit {
  /**
   * Counts one call of `key` against its minute. Throws 429 with Retry-After. Returns the RateLimit-* headers
   * of the answer.
   */
  take(key: string): Promise<Record<string, string>>;
}

interface Lease {
  windowStart: number;
  tokens: number;
  /** Tokens of the window that all processes had taken when this one last took some. */
  used: number;
  /** A renewal that callers share while it is under way. */
  pending: Promise<void> | undefined;
}

/**
 * A fixed window of a minute, shared by all processes: each takes tokens from the database in blocks of a
 * twentieth of the limit and spends them in memory, so that most calls cost no write. `limit` 0 is off.
 */
export function createRateLimit(db: Database, clock: Clock, name: string, limit: number): RateLimit {
  const leases = new Map<string, Lease>();
  const block = Math.max(1, Math.ceil(limit / 20));

  const secondsLeft = (start: number) => Math.max(1, Math.ceil((start + windowMs - clock()) / 1000));

  function leaseOf(key: string): Lease {
    const windowStart = Math.floor(clock() / windowMs) * windowMs;
    const known = leases.get(key);
    if (known?.windowStart === windowStart) return known;
    if (leases.size > 10_000) leases.clear();
    const lease: Lease = { windowStart, tokens: 0, used: 0, pending: undefined };
    leases.set(key, lease);
    return lease;
  }

  return {
    async take(key) {
      if (limit === 0) return {};
      const lease = leaseOf(key);
      while (lease.tokens === 0) {
        // Asking the database again would not help before the window is over.
        if (lease.used >= limit) throw refusal(lease);
        lease.pending ??= leaseTokens(db, `${name}:${key}`, lease.windowStart, block, limit)
          .catch((error) => {
            // A limit protects the service; it must not be what fails while the database cannot be written.
            if (isDatabaseAway(error instanceof AppError ? error.cause : error))
              return { tokens: 1, used: lease.used };
            throw error;
          })
          .then(({ tokens, used }) => {
            lease.tokens += tokens;
            lease.used = used;
          })
          .finally(() => {
            lease.pending = undefined;
          });
        await lease.pending;
      }
      lease.tokens--;
      return headers(lease);
    },
  };

  function refusal(lease: Lease) {
    const wait = secondsLeft(lease.windowStart);
    return tooMany(`More than ${limit} calls in this minute; wait ${wait} s.`, wait, headers(lease));
  }

  function headers(lease: Lease): Record<string, string> {
    return {
      "RateLimit-Limit": String(limit),
      "RateLimit-Remaining": String(Math.max(0, limit - lease.used + lease.tokens)),
      "RateLimit-Reset": String(secondsLeft(lease.windowStart)),
    };
  }
}

interface Taken {
  tokens: number;
  used: number;
}

/** Takes up to `block` tokens of a window; 0 when it is used up. */
async function leaseTokens(
  db: Database,
  id: string,
  windowStart: number,
  block: number,
  limit: number,
): Promise<Taken> {
  const take = () => db.transaction((tx) => takeIn(tx, id, windowStart, block, limit));
  try {
    return await take();
  } catch (error) {
    // Two processes made the row at the same moment; it is there now.
    if (isUniqueViolation(error)) return take();
    throw error;
  }
}

async function takeIn(tx: Tx, id: string, windowStart: number, block: number, limit: number): Promise<Taken> {
  const row = await tx("rate_limits").where({ id }).forUpdate().first();
  const before = row?.window_start === windowStart ? Number(row.used) : 0;
  const tokens = Math.max(0, Math.min(block, limit - before));
  const used = before + tokens;
  if (!row) await tx("rate_limits").insert({ id, window_start: windowStart, used });
  else if (tokens > 0) await tx("rate_limits").where({ id }).update({ window_start: windowStart, used });
  return { tokens, used };
}

/** Forgets windows that are over. Returns their number. */
export async function forgetOldWindows(tx: Tx, now: number): Promise<number> {
  return tx("rate_limits")
    .where("window_start", "<", now - 2 * windowMs)
    .delete();
}
