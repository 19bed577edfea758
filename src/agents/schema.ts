import { z } from "zod";
import { Instant, Limit } from "../platform/http/index.ts";

export const Problem = z
  .object({
    message: z.string(),
    path: z
      .string()
      .describe("Place inside the file, for example cases[2].assert.regex; empty for the whole file."),
    line: z.int(),
    column: z.int(),
  })
  .meta({ id: "Problem" });

const agentFields = {
  name: z.string(),
  framework: z.string(),
  path: z.string(),
  valid: z.boolean(),
  problems: z.array(Problem).optional(),
  warnings: z.array(Problem).optional(),
  evalProblems: z
    .array(Problem)
    .optional()
    .describe("Problems of the eval file; the agent is valid all the same."),
  hasEvals: z.boolean(),
  labels: z.array(z.string()),
  connections: z.array(z.string()).describe("Slugs of the tools it may call."),
  versions: z.object({
    stable: z.int().nullable().describe("Number of the promoted snapshot."),
    latest: z.int().nullable().describe("Number of the newest snapshot."),
  }),
  commitSha: z.string().describe("Commit at which its files were last seen to change."),
  updatedAt: Instant,
};

export const Agent = z.object(agentFields).meta({ id: "Agent" });
export type Agent = z.infer<typeof Agent>;

export const AgentWithSpec = z
  .object({
    ...agentFields,
    format: z.enum(["yaml", "json"]),
    spec: z.string().nullable().describe("Text of the file; null when it could not be read."),
    lastValidSpec: z
      .string()
      .optional()
      .describe("Text of the newest valid spec, while the current one is broken."),
  })
  .meta({ id: "AgentWithSpec" });
export type AgentWithSpec = z.infer<typeof AgentWithSpec>;

export const Catalog = z
  .object({
    repository: z.string().nullable(),
    commitSha: z.string().nullable(),
    syncedAt: Instant.nullable(),
    stale: z
      .boolean()
      .describe("The repository could not be read lately; what is shown is the last known good state."),
    error: z.string().optional(),
    problems: z.array(z.object({ path: z.string(), message: z.string(), line: z.int(), column: z.int() })),
  })
  .meta({ id: "Catalog" });
export type Catalog = z.infer<typeof Catalog>;

export const ListAgents = z.strictObject({
  limit: Limit.describe("Agents on a page, 1 to 200."),
  before: z.string().max(600).optional().describe("The nextBefore of the page before."),
});

export const GetAgent = z.strictObject({ name: z.string().max(255) });

/** Which version of an agent: stable, draft, or a snapshot's number as text or number. */
export const VersionName = z
  .union([
    z.literal(["stable", "draft"]),
    z.string().regex(/^[1-9]\d{0,8}$/, "Use stable, draft or a number."),
    z.int().positive(),
  ])
  .transform(String);

export const ValidateAgent = z.strictObject({
  content: z.string().max(1_000_000).describe("Text of a spec."),
  format: z.enum(["yaml", "json"]),
});

export const Validation = z.object({
  valid: z.boolean(),
  framework: z.string().describe("Empty when it cannot be read."),
  name: z.string().describe("Empty when it cannot be read."),
  format: z.enum(["yaml", "json"]),
  problems: z.array(Problem),
});
