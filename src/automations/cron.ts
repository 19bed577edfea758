import { Cron } from "croner";
import { type AppError, badRequest, unprocessable } from "../platform/errors.ts";

/** When a schedule fires, in epoch milliseconds. Both throw when the expression or the zone cannot be used. */
export interface Schedule {
  /** The first occurrence after an instant; undefined when there is none. */
  nextAfter(instant: number): number | undefined;
  /** The last occurrence at or before an instant; undefined when there is none. */
  latestUpTo(instant: number): number | undefined;
}

/** Schedules by expression and time zone; those used last are kept, since reading an expression costs more than using it. */
export type Schedules = (expression: string, timezone: string) => Schedule;

/** Short names for common schedules, all at the beginning of their period in the schedule's zone. */
export const nicknames = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"] as const;

const kept = 2_000;
const fiveYears = 5 * 366 * 86_400_000;
const zoneName = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

export function createSchedules(): Schedules {
  const parsed = new Map<string, Schedule>();
  return (expression, timezone) => {
    const key = `${timezone}\n${expression}`;
    const known = parsed.get(key);
    if (known) return known;
    const schedule = readSchedule(expression, timezone);
    const [oldest] = parsed.keys();
    if (parsed.size >= kept && oldest !== undefined) parsed.delete(oldest);
    parsed.set(key, schedule);
    return schedule;
  };
}

/** Throws when the expression is not one of the five-part form or a known nickname. */
function readSchedule(expression: string, timezone: string): Schedule {
  if (expression.startsWith("@") && !nicknames.some((name) => name === expression))
    throw new Error(`${expression} is not known; use one of ${nicknames.join(", ")}.`);
  // croner would also take a single instant for a schedule.
  else if (!expression.startsWith("@") && normaliseExpression(expression).split(" ").length !== 5)
    throw new Error("It does not have five parts.");
  const cron = new Cron(expression, { mode: "5-part", timezone, paused: true });
  return {
    nextAfter: (instant) => cron.nextRun(new Date(instant))?.getTime(),
    // croner looks strictly before its reference.
    latestUpTo: (instant) => cron.previousRuns(1, new Date(instant + 1))[0]?.getTime(),
  };
}

/** The expression with single spaces between its parts, as it is stored. */
export const normaliseExpression = (expression: string) => expression.trim().replace(/\s+/g, " ");

/** Whether the time zone data of this process has a zone of that name; offsets are none. */
export function isTimeZone(name: string): boolean {
  if (!zoneName.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * The schedule of a request. Throws 400 that names the field when the expression or the zone is wrong, 422 when
 * the schedule does not fire within five years of `now`.
 */
export function requireSchedule(
  schedules: Schedules,
  expression: string,
  timezone: string,
  now: number,
): Schedule {
  if (!isTimeZone(timezone)) {
    throw fieldError("timezone", "Use the IANA name of a time zone, such as Europe/Berlin or UTC.");
  }
  const schedule = readable(schedules, expression, timezone);
  const next = schedule.nextAfter(now);
  if (next === undefined || next > now + fiveYears) {
    throw unprocessable(`The schedule ${expression} does not fire within the next five years; change it.`);
  }
  return schedule;
}

function readable(schedules: Schedules, expression: string, timezone: string): Schedule {
  try {
    return schedules(expression, timezone);
  } catch (error) {
    const cause = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "";
    throw fieldError(
      "schedule",
      `Write five parts (minute, hour, day of month, month, day of week) or one of ${nicknames.join(", ")}. ${cause}`,
    );
  }
}

const fieldError = (path: string, message: string): AppError =>
  badRequest("The schedule does not fit; see details.", [{ path, message }]);
