import { z } from "zod";

/** Names of agents; the file name without its ending has to equal it. */
export const AgentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    "Use 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen.",
  );

/** Slug of a tool, as `GET /tools` lists it. */
export const ToolSlug = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Z0-9_]*$/, "Use a tool slug in SCREAMING_SNAKE_CASE, as GET /tools lists it.");

/** Slugs of tools, each once. */
export const ToolSlugs = z
  .array(ToolSlug)
  .max(128)
  .refine((slugs) => new Set(slugs).size === slugs.length, "Name each tool once.");

/** A model as specs name it. */
export const ModelRef = z
  .string()
  .regex(/^[a-z0-9-]+\/\S{1,200}$/, "Write the model as provider/model, for example openai/gpt-5-mini.");

/**
 * The part of a spec that all frameworks share. A framework extends it with keys of its own and names
 * itself in `framework`; keys that neither knows are problems.
 */
export const AgentSpecBase = z.strictObject({
  name: AgentName.describe("Equals the file name without its ending."),
  framework: z.string().describe("Equals the folder below agents/."),
  description: z
    .string()
    .max(2_000)
    .optional()
    .describe("One or two sentences for people who choose an agent."),
  model: ModelRef.describe("provider/model, for example openai/gpt-5-mini; offline/echo needs no provider."),
  instructions: z.string().min(1).max(100_000).describe("The system prompt."),
  connections: ToolSlugs.default([]).describe("Slugs of the tools that the agent may call."),
  labels: z
    .array(z.string().regex(/^[\w.-]{1,63}$/))
    .max(32)
    .default([])
    .describe("Free labels; chat apps choose agents by them."),
  parameters: z
    .strictObject({
      temperature: z.number().min(0).max(2).optional(),
      maxSteps: z.int().min(1).max(50).default(20).describe("Model calls in one run."),
      maxOutputTokens: z.int().min(1).max(1_000_000).optional().describe("Per model call."),
      timeoutSeconds: z.int().min(1).max(3_600).default(300).describe("For the whole run."),
    })
    .prefault({}),
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(2)
    .describe("How often one model call is tried again after a rate limit or an outage."),
  budget: z
    .strictObject({
      usdPerRun: z.number().positive().optional(),
      usdPerDay: z.number().positive().optional().describe("Over all runs of the agent since 00:00 UTC."),
    })
    .optional(),
});

export type AgentSpec = z.infer<typeof AgentSpecBase>;
