import type { Schedule } from "./cron.ts";

/** Occurrences that are answered for by one row. Instants in epoch milliseconds. */
export interface Missed {
  first: number;
  last: number;
  /** Counted when it is asked for, exactly up to `mostCounted`, which stands for that many or more. */
  count(): number;
}

/** What a schedule that is due has come to. */
export interface DueOccurrences {
  /** The latest occurrence up to now: the one to start a run for. */
  latest: number;
  /** Those before it that were missed. */
  coalesced: Missed | undefined;
  /** The first one after now; undefined when there is none any more. */
  next: number | undefined;
}

/** A minute's schedule passes this many in sixteen hours; counting on would hold up those that are due on time. */
export const mostCounted = 1_000;

/**
 * What is due at `now` of a schedule whose next occurrence was `scheduled`, which is not after `now`. The next one
 * is computed from the schedule and never from when a run started or ended, so nothing drifts.
 */
export function dueOccurrences(schedule: Schedule, scheduled: number, now: number): DueOccurrences {
  const latest = Math.max(scheduled, schedule.latestUpTo(now) ?? scheduled);
  const next = schedule.nextAfter(latest);
  return {
    latest,
    coalesced: latest > scheduled ? missedBefore(schedule, scheduled, latest) : undefined,
    // Time zone data that contradicts itself must not make a schedule spin.
    next: next !== undefined && next > now ? next : schedule.nextAfter(now),
  };
}

/** The occurrences from `first`, which is one, up to but not including `end`. */
export function missedBefore(schedule: Schedule, first: number, end: number): Missed {
  const last = Math.max(first, schedule.latestUpTo(end - 1) ?? first);
  let counted: number | undefined;
  return {
    first,
    last,
    count: () => {
      counted ??= countOf(schedule, first, last);
      return counted;
    },
  };
}

function countOf(schedule: Schedule, first: number, last: number): number {
  let count = 1;
  for (let instant = first; instant < last && count < mostCounted; count++) {
    const next = schedule.nextAfter(instant);
    if (next === undefined || next <= instant || next > last) return count;
    instant = next;
  }
  return count;
}
