import { z } from "zod";
import { VersionName } from "../agents/index.ts";
import type { StatusPost } from "../commit-status/index.ts";
import { Before, Instant, Limit, text, WaitSeconds } from "../platform/http/index.ts";

export const suiteStatuses = ["queued", "running", "passed", "failed", "error"] as const;
export type SuiteStatus = (typeof suiteStatuses)[number];

export const suiteSources = ["api", "ci", "pull_request", "console"] as const;
export type SuiteSource = (typeof suiteSources)[number];

const AssertionRecord = z.object({
  kind: z.string().describe("Name of the check; run or output when there was nothing to check."),
  passed: z.boolean(),
  detail: z.string(),
});

const caseSummary = {
  name: z.string(),
  status: z
    .enum(["queued", "running", "passed", "failed", "cancelled"])
    .describe("cancelled when the suite ended before the case did."),
  passed: z.boolean().describe("Whether all checks held; false until the case has ended."),
  judgePassed: z
    .boolean()
    .nullable()
    .describe("Opinion of the judge, which decides nothing; null without one."),
  judgeReason: z.string().optional(),
  runId: z.string().describe("Of a repeated case the first run that failed, else its first one."),
  durationMs: z.int().nullable().describe("Of the longest run."),
  costUsd: z.number().nullable().describe("Of all runs; null when it is not known."),
  runs: z
    .array(z.object({ runId: z.string(), passed: z.boolean().nullable() }))
    .optional()
    .describe("All runs of a case that is repeated; passed is null until one is evaluated."),
};

const EvalCaseRecord = z.object({
  ...caseSummary,
  input: z.string(),
  output: z.string().nullable(),
  assertions: z.array(AssertionRecord),
});
export type EvalCaseRecord = z.infer<typeof EvalCaseRecord>;

const StatusPostRecord = z.object({
  state: z.enum(["none", "pending", "posted", "skipped", "failed"]),
  reason: z.string().optional(),
}) satisfies z.ZodType<StatusPost>;

const suiteFields = {
  id: z.string(),
  agent: z.string(),
  version: z.string(),
  commitSha: z.string(),
  source: z.enum(suiteSources),
  status: z.enum(suiteStatuses),
  totalCount: z.int(),
  passedCount: z.int(),
  cached: z.boolean().describe("Whether an earlier suite's results stand in: nothing was run for this one."),
  cachedFrom: z.string().optional().describe("The suite whose results they are."),
  runAs: z
    .string()
    .nullable()
    .describe("Login of the member whose connections the runs use; null when they use nobody's."),
  createdAt: Instant,
  finishedAt: Instant.nullable(),
  error: z.string().optional().describe("Why the suite could not be run, with status error."),
  statusPost: StatusPostRecord.describe(
    "What became of the commit's status; none when there is none of this suite.",
  ),
};

export const EvalSuite = z
  .object({ ...suiteFields, cases: z.array(EvalCaseRecord) })
  .meta({ id: "EvalSuite" });
export type EvalSuite = z.infer<typeof EvalSuite>;

/** What lists show: inputs, outputs and assertions are in the suite itself. */
export const EvalSuiteSummary = z
  .object({ ...suiteFields, cases: z.array(z.object(caseSummary)) })
  .meta({ id: "EvalSuiteSummary" });
export type EvalSuiteSummary = z.infer<typeof EvalSuiteSummary>;

export const CreateEval = z.strictObject({
  agent: text(200),
  version: VersionName.optional().describe("draft, stable or a snapshot's number; default draft."),
  spec: text(1_000_000).optional().describe("Text of a spec, instead of the repository's."),
  eval: text(1_000_000).optional().describe("Text of an eval file, instead of the repository's."),
  commitSha: z
    .string()
    .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, "Use the full id of a commit, in lower case.")
    .optional()
    .describe("Commit that the texts are from; a text that is not given is read there."),
  source: z.enum(["api", "ci"]).default("api"),
  cache: z
    .boolean()
    .default(false)
    .describe("true runs nothing when the newest suite of exactly these two texts has passed."),
});
export type CreateEval = z.infer<typeof CreateEval>;

export const ListEvals = z.strictObject({
  agent: z.string().min(1).max(200),
  latest: z
    .enum(["true", "false"], "Use true or false.")
    .transform((word) => word === "true")
    .optional()
    .describe("true shows the newest suite only."),
  limit: Limit.describe("Suites on a page, 1 to 200."),
  before: Before.optional(),
});
export type ListEvals = z.infer<typeof ListEvals>;

export const EvalId = z.strictObject({ id: z.string().max(64) });

export const GetEval = z.strictObject({
  wait: WaitSeconds.optional().describe("Seconds to wait for the suite's end, at most 60."),
});
