import type { Clock } from "../platform/clock.ts";
import { type Database, isAway } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { type SettleDeps, settleDue } from "./settle.ts";
import { type DueAutomation, dueAutomations, upcomingInstants } from "./store.ts";
import { resolveTargets, type TargetDeps } from "./targets.ts";

export interface SweepDeps extends SettleDeps, TargetDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  wakeUps: WakeUps;
}

/** The part of the scheduler that sweeps use: has some process woken at each of these instants, epoch milliseconds. */
export interface WakeUps {
  ensure(instants: readonly number[]): Promise<void>;
}

export interface Sweep {
  /** Settles everything that is due at that instant. Throws a 503 AppError when the database is away. */
  fireDue(now: number): Promise<void>;
  /** The same for now, one at a time: what is asked for during a sweep is done by one that follows it. Never throws. */
  wake(): Promise<void>;
  /** Has a process woken at that instant if it comes soon; what comes later is seen to by the sweeps. */
  announce(instant: number | null): void;
  /** Sweeps now and regularly. Returns how to stop, which settles when no sweep is under way. */
  start(): () => Promise<void>;
}

/** Automations settled in one transaction. */
const batch = 250;

const sweepMs = 30_000;
const againMs = 1_000;

/** Wake-ups are asked for this far ahead: some sweeps more than needed, should one fail. */
const horizonMs = 120_000;
const mostUpcoming = 5_000;

export function createSweep(deps: SweepDeps): Sweep {
  const { db, clock, logger, wakeUps } = deps;
  let underway: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let retry: NodeJS.Timeout | undefined;

  async function fireDue(now: number): Promise<void> {
    let after: DueAutomation | undefined;
    for (;;) {
      const due = await dueAutomations(db.read, now, batch, after);
      if (due.length > 0) await settleBatch(due, now);
      after = due.at(-1);
      // What others have locked is passed by: they settle it, or the next sweep does.
      if (due.length < batch) break;
    }
    await wakeUps.ensure(await upcomingInstants(db.read, now, now + horizonMs, mostUpcoming));
  }

  async function settleBatch(due: readonly DueAutomation[], now: number): Promise<void> {
    try {
      const targets = await resolveTargets(deps, due);
      const ids = due.map(({ id }) => id);
      await db.transaction((tx) => settleDue(tx, deps, { ids, targets, now }));
    } catch (error) {
      if (isAway(error)) throw error;
      // One that cannot be settled must not keep the others of its batch from being so.
      if (due.length > 1) for (const each of due) await settleBatch([each], now);
      else
        logger.error(
          { err: error, automation: due[0]?.id },
          "an automation that is due could not be settled",
        );
    }
  }

  async function sweepUntilDone(): Promise<void> {
    do {
      again = false;
      try {
        await fireDue(clock());
      } catch (error) {
        logger.warn({ err: error }, "due automations could not be looked at");
        if (!stopped) retry = setTimeout(() => void wake(), againMs);
      }
    } while (again && !stopped);
    underway = undefined;
  }

  function wake(): Promise<void> {
    clearTimeout(retry);
    again = true;
    if (!stopped) underway ??= sweepUntilDone();
    return underway ?? Promise.resolve();
  }

  return {
    fireDue,
    wake,
    announce(instant) {
      if (instant !== null && instant <= clock() + horizonMs) void wakeUps.ensure([instant]);
    },
    start() {
      const timer = setInterval(() => void wake(), sweepMs);
      void wake();
      return async () => {
        stopped = true;
        clearInterval(timer);
        clearTimeout(retry);
        await underway;
      };
    },
  };
}
