import { z } from "zod";
import { VersionName } from "../agents/index.ts";
import { failureCodes } from "../frameworks/index.ts";
import { Before, Instant, Limit, text, WaitSeconds } from "../platform/http/index.ts";

export const runStatuses = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
export type RunStatus = (typeof runStatuses)[number];

/** How a run was started, and how people are told. */
export const sourceOf = {
  api: "API",
  schedule: "Schedule",
  event: "Event",
  webhook: "Event",
  chat: "Chat",
  eval: "Eval",
} as const;
export type RunTrigger = keyof typeof sourceOf;
export const runTriggers = Object.keys(sourceOf) as [RunTrigger, ...RunTrigger[]];

export const Run = z
  .object({
    id: z.string(),
    agent: z.string(),
    framework: z.string(),
    version: z.string().describe("draft, or the number of a snapshot."),
    commitSha: z.string(),
    specSha: z.string().describe("SHA-256 of the spec's text that the run is made from."),
    status: z.enum(runStatuses),
    trigger: z.enum(runTriggers),
    source: z.enum(["API", "Schedule", "Event", "Chat", "Eval"]),
    message: z.string(),
    output: z.string().nullable(),
    model: z.string().nullable(),
    tokensInput: z.int(),
    tokensOutput: z.int(),
    tokensCached: z.int().describe("The part of tokensInput that was read from a cache."),
    costUsd: z.number().nullable().describe("Null when the model's price is not known."),
    runEnvironment: z.enum(["Production", "Development"]),
    runAs: z
      .string()
      .nullable()
      .describe("Login of the member whose connections the run uses; null when it uses nobody's."),
    createdAt: Instant,
    startedAt: Instant.nullable(),
    finishedAt: Instant.nullable(),
    durationMs: z.int().nullable(),
    evalId: z.string().optional().describe("The eval suite that the run is a case of."),
    failureCode: z.enum(failureCodes).optional(),
    errorMessage: z.string().optional(),
    failureRecommendation: z.string().optional(),
    errorDetails: z.string().optional().describe("Raw trace, for workspace admins only."),
  })
  .meta({ id: "Run" });
export type Run = z.infer<typeof Run>;

export const RunId = z.strictObject({ id: z.string().max(64) });

export const CreateRun = z.strictObject({
  agent: text(200),
  message: text(1_000_000).default(""),
  version: VersionName.optional().describe(
    "stable, draft or a snapshot's number; default stable when there is one, else draft.",
  ),
});
export type CreateRun = z.infer<typeof CreateRun>;

const environments = ["production", "development"] as const;

export const ListRuns = z.strictObject({
  status: z.enum(runStatuses).optional(),
  agent: z.string().min(1).max(200).optional(),
  trigger: z
    .enum(runTriggers)
    .optional()
    .describe("eval shows the runs of eval cases, which are left out otherwise."),
  environment: z
    .string()
    .transform((list) => list.split(",").map((each) => each.trim()))
    .pipe(z.array(z.enum(environments, "Use production, development, or both with a comma.")))
    .optional()
    .describe("production, development, or both with a comma."),
  limit: Limit.describe("Runs on a page, 1 to 200."),
  before: Before.optional(),
});
export type ListRuns = z.infer<typeof ListRuns>;

export const GetRun = z.strictObject({
  wait: WaitSeconds.optional().describe("Seconds to wait for the run's end, at most 60."),
});
