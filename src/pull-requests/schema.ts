import { z } from "zod";
import { Before, Instant, Limit } from "../platform/http/index.ts";

export const headStates = [
  "awaiting_approval",
  "planning",
  "running",
  "success",
  "failure",
  "error",
  "superseded",
] as const;
export type HeadState = (typeof headStates)[number];

const agentOutcomes = ["evals", "no_evals", "invalid", "eval_invalid"] as const;
export type AgentOutcome = (typeof agentOutcomes)[number];

/** The first problem of a file that is not valid. */
export const FileProblem = z.object({
  path: z.string().describe("Of the file in the repository."),
  line: z.int(),
  column: z.int(),
  message: z.string(),
});
export type FileProblem = z.infer<typeof FileProblem>;

const PullRequestAgent = z.object({
  agent: z.string(),
  path: z.string(),
  evalPath: z.string().nullable(),
  outcome: z
    .enum(agentOutcomes)
    .describe(
      "evals: they are run; no_evals: there are none; invalid: the spec; eval_invalid: the eval file.",
    ),
  problem: FileProblem.optional(),
  evalId: z.string().optional().describe("The suite that counts: the newest of exactly these two files."),
  status: z.enum(["queued", "running", "passed", "failed", "error"]).optional(),
  cached: z.boolean().optional().describe("An earlier suite of the same two files stands in for a new one."),
  passedCount: z.int().optional(),
  totalCount: z.int().optional(),
  base: z
    .object({ evalId: z.string(), passedCount: z.int(), totalCount: z.int() })
    .optional()
    .describe("The newest suite of the files as they were before, if there is one."),
});

export const PullRequestHead = z
  .object({
    id: z.string(),
    number: z.int().nullable().describe("Null for a merge group."),
    mergeBranch: z.string().optional().describe("Branch of a merge group."),
    headSha: z.string(),
    baseRef: z.string(),
    baseSha: z.string().nullable().describe("Commit that the head is compared with; null until it was."),
    author: z.string().describe("Empty for a merge group and for an account that is gone."),
    fork: z.boolean(),
    state: z.enum(headStates),
    reason: z.string().optional(),
    approvedBy: z.string().optional(),
    runAs: z.string().nullable().describe("Member whose connections the evals use; null for nobody's."),
    agents: z.array(PullRequestAgent),
    statusPost: z.object({
      state: z.enum(["none", "pending", "posted", "skipped", "failed"]),
      reason: z.string().optional(),
    }),
    createdAt: Instant,
    finishedAt: Instant.nullable(),
  })
  .meta({ id: "PullRequestHead" });
export type PullRequestHead = z.infer<typeof PullRequestHead>;

const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, "Use the full id of a commit, in lower case.");

const numberShape = /^[1-9]\d{0,8}$/;

export const ListPullRequests = z.strictObject({
  number: z
    .string()
    .regex(numberShape, "Use the number of a pull request.")
    .transform(Number)
    .optional()
    .describe("Heads of this pull request only."),
  headSha: sha.optional().describe("Heads with this commit only."),
  limit: Limit.describe("Heads on a page, 1 to 200."),
  before: Before.optional(),
});
export type ListPullRequests = z.infer<typeof ListPullRequests>;

/** Of a path: what is no number belongs to no pull request, as an unknown number does. */
export const PullRequestNumber = z.strictObject({
  number: z
    .string()
    .max(64)
    .transform((text) => (numberShape.test(text) ? Number(text) : undefined)),
});

export const Approve = z.strictObject({
  headSha: sha.describe("The commit that was looked at; no other one is approved."),
});
