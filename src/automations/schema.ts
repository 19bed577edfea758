import { z } from "zod";
import { Instant, line, Page, text } from "../platform/http/index.ts";
import { isTimeZone, normaliseExpression } from "./cron.ts";

export const automationStatuses = ["enabled", "disabled", "paused", "Error"] as const;
export type AutomationStatus = (typeof automationStatuses)[number];

export const overlaps = ["skip", "queue", "allow"] as const;
export type Overlap = (typeof overlaps)[number];

export const targetVersions = ["stable", "draft"] as const;
export type TargetVersion = (typeof targetVersions)[number];

export const fireOutcomes = ["fired", "skipped_overlap", "coalesced", "missed", "blocked", "error"] as const;
export type FireOutcome = (typeof fireOutcomes)[number];

export const Automation = z
  .object({
    id: z.string(),
    agent: z.string(),
    schedule: z.string(),
    timezone: z.string(),
    message: z.string(),
    owner: z.string().describe("Login of the member whom its runs run as."),
    targetVersion: z.enum(targetVersions),
    enabled: z.boolean(),
    status: z.enum(automationStatuses),
    statusReason: z.string().nullable(),
    overlap: z.enum(overlaps).describe("What happens while its run before is still under way."),
    nextRunAt: Instant.nullable().describe("Null while it is disabled or paused; past while it waits."),
    lastFireAt: Instant.nullable(),
    lastRunId: z.string().nullable(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: "Automation" });
export type Automation = z.infer<typeof Automation>;

export const Fire = z
  .object({
    scheduledFor: Instant,
    outcome: z.enum(fireOutcomes),
    reason: z.string().optional(),
    runId: z.string().optional(),
    runAs: z.string().optional().describe("Login that the run ran as."),
    count: z
      .int()
      .describe("Occurrences up to scheduledFor that this stands for; 1,000 means that many or more."),
    firstScheduledFor: Instant.optional().describe("The first of them, when there are several."),
    recordedAt: Instant,
  })
  .meta({ id: "ScheduleFire" });
export type Fire = z.infer<typeof Fire>;

const Expression = text(100)
  .transform(normaliseExpression)
  .describe("Five-part cron expression, or @hourly, @daily, @weekly, @monthly, @yearly.");
const TimeZone = z
  .string()
  .max(100)
  .refine(isTimeZone, "Use the IANA name of a time zone, such as Europe/Berlin or UTC.");

const fields = {
  agent: line(191),
  schedule: Expression,
  timezone: TimeZone,
  message: text(100_000),
  owner: line(191).describe("Login; only a workspace admin names another member."),
  targetVersion: z.enum(targetVersions),
  enabled: z.boolean(),
  overlap: z.enum(overlaps),
};

export const CreateAutomation = z.strictObject({
  ...fields,
  timezone: TimeZone.default("UTC"),
  message: fields.message.default(""),
  owner: fields.owner.optional(),
  targetVersion: fields.targetVersion
    .optional()
    .describe("Fixed when the automation is made: stable when there is one, else draft."),
  enabled: z.boolean().default(true),
  overlap: fields.overlap.default("skip"),
});
export type CreateAutomation = z.infer<typeof CreateAutomation>;

export const ChangeAutomation = z.strictObject(fields).partial();
export type ChangeAutomation = z.infer<typeof ChangeAutomation>;

export const AutomationId = z.strictObject({ id: z.string().max(64) });

export const ListAutomations = Page.extend({
  agent: z.string().min(1).max(191).optional(),
  status: z.enum(automationStatuses).optional(),
});
export type ListAutomations = z.infer<typeof ListAutomations>;

export const ListFires = Page.extend({
  before: z
    .string()
    .regex(/^\d{1,15}$/, "Use the nextBefore of the page before.")
    .transform(Number)
    .optional(),
});
export type ListFires = z.infer<typeof ListFires>;

export const PreviewSchedule = z.strictObject({ schedule: Expression, timezone: TimeZone.default("UTC") });

export const SchedulePreview = z.object({
  schedule: z.string(),
  timezone: z.string(),
  next: z.array(z.string().meta({ format: "date-time" })).describe("Next ten, with the zone's offset."),
});
export type SchedulePreview = z.infer<typeof SchedulePreview>;
