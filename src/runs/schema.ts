import { z } from "zod";
import { VersionName } from "../agents/index.ts";
import { failureCodes } from "../frameworks/index.ts";
import { Before, Instant, Limit, text, WaitSeconds } from "../platform/http/index.ts";
import { budgetStates, capNames } from "./budget.ts";

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
    framework: z.string().describe("Empty when the run could not start for want of a usable spec."),
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
    automationId: z.string().optional().describe("The automation that the run is of."),
    triggerId: z.string().optional().describe("The event trigger that started the run."),
    webhookId: z.string().optional().describe("The webhook that started the run."),
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

const Usd = z.number().describe("US dollars.");

export const BudgetLine = z.object({
  cap: z.enum(capNames).describe("Name of the setting; a spec's usdPerDay stands in for usdPerAgentDay."),
  of: z.string().nullable().describe("The agent's name or the member's login; null for the workspace."),
  amountUsd: Usd.nullable().describe("Null when there is no cap."),
  usedUsd: Usd,
  unpricedRuns: z.int().describe("Runs whose cost is not known; they count 0."),
  state: z.enum(budgetStates).describe("exceeded as soon as nothing is left."),
  resetsAt: Instant,
});
export type BudgetLine = z.infer<typeof BudgetLine>;

export const BudgetReport = z
  .object({
    warnAt: z.number().describe("Part of a cap from which on its state is warning."),
    usdPerRun: Usd.nullable().describe("For runs of agents whose spec sets none."),
    caps: z.array(BudgetLine).describe("The workspace, then members and agents, the dearest first."),
  })
  .meta({ id: "BudgetReport" });
export type BudgetReport = z.infer<typeof BudgetReport>;

export const GetRun = z.strictObject({
  wait: WaitSeconds.optional().describe("Seconds to wait for the run's end, at most 60."),
});
