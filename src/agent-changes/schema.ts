import { z } from "zod";
import { AgentName } from "../frameworks/index.ts";
import { Instant, Page, text, WaitSeconds } from "../platform/http/index.ts";

export const changeKinds = ["create", "edit"] as const;
export type ChangeKind = (typeof changeKinds)[number];

export const changeStatuses = ["queued", "running", "proposed", "committed", "failed"] as const;
export type ChangeStatus = (typeof changeStatuses)[number];

const SuggestedAutomation = z.object({
  schedule: z.string(),
  timezone: z.string().optional().describe("Left out when the description names none."),
  message: z.string(),
});
export type SuggestedAutomation = z.infer<typeof SuggestedAutomation>;

const EvaluatedCase = z.object({
  name: z.string(),
  passed: z.boolean(),
  judgePassed: z.boolean().nullable(),
  /** Why it failed, in one line; empty when it passed. */
  detail: z.string(),
});

/** What the evals of the new texts came to, or why there were none. */
export const Evaluation = z.object({
  status: z.enum(["passed", "failed", "error", "skipped"]),
  passedCount: z.int(),
  totalCount: z.int(),
  reason: z.string().optional(),
  cases: z.array(EvaluatedCase),
});
export type Evaluation = z.infer<typeof Evaluation>;

/** What was written, before it is published. */
export const Draft = z.object({
  files: z.array(z.object({ path: z.string(), text: z.string() })),
  specText: z.string(),
  /** The eval file as it is afterwards, be it changed or not; null when there is none. */
  evalText: z.string().nullable(),
  summary: z.string(),
  /** What the reader has to know beside the summary. */
  notes: z.array(z.string()),
  suggestion: SuggestedAutomation.nullable(),
  usage: z.object({ input: z.int(), output: z.int(), costUsd: z.number().nullable() }),
});
export type Draft = z.infer<typeof Draft>;

export const AgentChange = z
  .object({
    task_id: z.string(),
    kind: z.enum(changeKinds),
    status: z.enum(changeStatuses),
    html_url: z.string().describe("The task's page, then the pull request's or commit's if there is one."),
    agent_path: z.string(),
    agent: z.string(),
    description: z.string(),
    requestedBy: z.string(),
    summary: z.string().optional().describe("What the author says of the change."),
    notes: z.array(z.string()).optional().describe("What a reader should know of how it came about."),
    evalId: z.string().optional(),
    evals: z
      .object({
        status: Evaluation.shape.status,
        passedCount: z.int(),
        totalCount: z.int(),
        reason: z.string().optional(),
      })
      .optional(),
    branch: z.string().optional().describe("Branch that the change is proposed on."),
    commitSha: z.string().optional(),
    error: z.string().optional(),
    suggestedAutomation: SuggestedAutomation.optional().describe(
      "A schedule that the description speaks of; nothing is scheduled unless somebody posts it to /automations.",
    ),
    tokensInput: z.int().optional(),
    tokensOutput: z.int().optional(),
    costUsd: z.number().nullable().optional().describe("Null when the model's price is not known."),
    createdAt: Instant,
    finishedAt: Instant.nullable(),
  })
  .meta({ id: "AgentChange" });
export type AgentChange = z.infer<typeof AgentChange>;

export const CreateAgentChange = z
  .strictObject({
    name: AgentName.optional().describe("Name of a new agent."),
    agent: z.string().min(1).max(191).optional().describe("Name of the agent that is to be changed."),
    description: text(10_000)
      .refine((value) => value.trim() !== "", "Say what the agent is to do.")
      .describe("What the agent does, or what is to change."),
    includeEvals: z.boolean().default(true).describe("Whether an eval file is written or kept up as well."),
  })
  .refine(({ name, agent }) => (name === undefined) !== (agent === undefined), {
    message: "Give either name, for a new agent, or agent, for a change of one that is there.",
    path: ["name"],
  });
export type CreateAgentChange = z.infer<typeof CreateAgentChange>;

export const NewAgentChange = z.object({
  task_id: z.string(),
  html_url: z.string(),
  kind: z.enum(changeKinds),
  agent_path: z.string(),
});
export type NewAgentChange = z.infer<typeof NewAgentChange>;

export const ListAgentChanges = Page.extend({
  agent: z.string().min(1).max(191).optional(),
  status: z.enum(changeStatuses).optional(),
});
export type ListAgentChanges = z.infer<typeof ListAgentChanges>;

export const ChangeId = z.strictObject({ task_id: z.string().max(64) });

export const GetAgentChange = z.strictObject({
  wait: WaitSeconds.optional().describe("Seconds to wait for the change's end, at most 60."),
});
