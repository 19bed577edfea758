import type { Clock } from "../platform/clock.ts";

/** How long it takes to look at a run's progress again: a third of its age, within these bounds. */
const leastMs = 1_500;
const mostMs = 10_000;

/**
 * Milliseconds until the progress of a run that has gone on for `ageMs` is looked at again. The more conversations of
 * an app are under way, the longer: all together they change no more messages a minute than `perMinute`.
 */
export function lookAgainMs(ageMs: number, underWay: number, perMinute: number): number {
  const own = Math.min(mostMs, Math.max(leastMs, ageMs / 3));
  return Math.max(own, (underWay * 60_000) / perMinute);
}

/** When a chat app may show progress again after its platform refused a call. */
export interface ProgressPauses {
  /** Milliseconds left; 0 when progress may be shown. */
  leftMs(chatAppId: string): number;
  /** Shows none for that long; a longer pause that goes on stays. */
  pause(chatAppId: string, ms: number): void;
}

/** Each process learns it by itself, from one refused call. */
export function createProgressPauses(clock: Clock): ProgressPauses {
  const until = new Map<string, number>();
  const leftMs = (id: string) => Math.max(0, (until.get(id) ?? 0) - clock());
  return {
    leftMs(id) {
      const left = leftMs(id);
      if (left === 0) until.delete(id);
      return left;
    },
    pause: (id, ms) => void until.set(id, clock() + Math.max(ms, leftMs(id))),
  };
}
