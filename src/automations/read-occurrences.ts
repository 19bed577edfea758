import { errorText } from "../platform/errors.ts";
import type { Schedules } from "./cron.ts";
import { type DueOccurrences, dueOccurrences } from "./next-occurrence.ts";
import type { AutomationRow } from "./store.ts";

/** What is due of an automation. Of a schedule that cannot be read any more one occurrence is known, and why not. */
export interface Reading {
  occurrences: DueOccurrences;
  unreadable?: string;
}

/** Looks up what is due, once for automations with the same schedule and the same next occurrence. */
export function createReader(schedules: Schedules, now: number): (row: AutomationRow) => Reading {
  const readings = new Map<string, Reading>();
  return (row) => {
    const key = [row.schedule, row.timezone, row.next_run_at].join("\n");
    const reading = readings.get(key) ?? readOccurrences(schedules, row, now);
    readings.set(key, reading);
    return reading;
  };
}

function readOccurrences(schedules: Schedules, row: AutomationRow, now: number): Reading {
  const scheduled = row.next_run_at ?? now;
  const known = { latest: scheduled, coalesced: undefined, next: undefined };
  try {
    const occurrences = dueOccurrences(schedules(row.schedule, row.timezone), scheduled, now);
    if (occurrences.next !== undefined) return { occurrences };
    return { occurrences: known, unreadable: "The schedule has no occurrence any more; change it." };
  } catch (error) {
    return { occurrences: known, unreadable: `The schedule cannot be read any more. ${errorText(error)}` };
  }
}
