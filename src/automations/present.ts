import { toInstant } from "../platform/clock.ts";
import type { FireRow } from "./fire-store.ts";
import type { Automation, AutomationStatus, Fire } from "./schema.ts";
import type { AutomationRow } from "./store.ts";

type StatusColumns = Pick<AutomationRow, "paused_reason" | "error_reason" | "enabled">;

/** Of several states that hold at a time the first of paused, Error, disabled is the one that is shown. */
export function statusOf({ paused_reason, error_reason, enabled }: StatusColumns): AutomationStatus {
  if (paused_reason !== null) return "paused";
  if (error_reason !== null) return "Error";
  return enabled === 1 ? "enabled" : "disabled";
}

export function presentAutomation(row: AutomationRow): Automation {
  return {
    id: row.id,
    agent: row.agent,
    schedule: row.schedule,
    timezone: row.timezone,
    message: row.message,
    owner: row.owner,
    targetVersion: row.target_version,
    enabled: row.enabled === 1,
    status: statusOf(row),
    statusReason: row.paused_reason ?? row.error_reason ?? row.waiting_reason,
    overlap: row.overlap,
    nextRunAt: toInstant(row.next_run_at),
    lastFireAt: toInstant(row.last_fire_at),
    lastRunId: row.last_run_id,
    createdAt: toInstant(row.created_at),
    updatedAt: toInstant(row.updated_at),
  };
}

export function presentFire(row: FireRow): Fire {
  return {
    scheduledFor: toInstant(row.scheduled_for),
    outcome: row.outcome,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(row.run_as === null ? {} : { runAs: row.run_as }),
    count: row.count,
    ...(row.count > 1 ? { firstScheduledFor: toInstant(row.first_scheduled_for) } : {}),
    recordedAt: toInstant(row.recorded_at),
  };
}

/** An instant as clocks of that zone show it, with the offset in force then: `2026-03-08T03:00:00-04:00`. */
export function toZonedInstant(instant: number, timezone: string): string {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
  const name = format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign = "+", hours = "00", minutes = "00"] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
  const shift = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000);
  return `${new Date(instant + shift).toISOString().slice(0, 19)}${sign}${hours}:${minutes}`;
}
