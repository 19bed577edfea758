import { z } from "zod";
import { Instant, line } from "../platform/http/index.ts";

/** `pending` while the provider is still to be told what is wanted. */
export const subscriptionStates = ["pending", "active", "disabled", "failed"] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

const Config = z.record(z.string(), z.unknown());

export const Trigger = z
  .object({
    id: z.string(),
    agent: z.string(),
    connection: z.string().describe("The account whose events start runs; it decides the owner."),
    slug: z.string(),
    config: Config,
    enabled: z.boolean(),
    owner: z.string().describe("Login of the member whom its runs run as."),
    tools: z
      .array(z.string())
      .nullable()
      .describe("The agent's tools that its runs are held to; null for all of them."),
    subscription: z.object({
      state: z.enum(subscriptionStates).describe("Whether the provider sends its events."),
      error: z.string().optional().describe("Why not, or why it is still being tried."),
    }),
    createdAt: Instant,
    updatedAt: Instant,
    lastEventAt: Instant.optional().describe("Last event that started a run, exact to the minute."),
  })
  .meta({ id: "Trigger" });
export type Trigger = z.infer<typeof Trigger>;

const maxConfigLength = 16 * 1024;
const maxDepth = 20;

const fields = {
  connection: line(191).describe("Id out of GET /connections; a workspace admin may name another member's."),
  slug: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,99}$/, "Use the slug of a trigger type, such as GITHUB_COMMIT_EVENT."),
  config: Config.refine(
    (config) => isShallow(config, maxDepth) && JSON.stringify(config).length <= maxConfigLength,
    "Use at most 16 KiB of JSON with 20 levels.",
  ).describe("What the trigger type's config asks for; {} when it asks for nothing."),
  enabled: z.boolean(),
  tools: z
    .array(line(191))
    .max(200)
    .nullable()
    .describe("Slugs out of the agent's connections; [] for no tools, null for all."),
};

export const CreateTrigger = z.strictObject({
  ...fields,
  config: fields.config.default({}),
  enabled: fields.enabled.default(true),
  tools: fields.tools.default(null),
});
export type CreateTrigger = z.infer<typeof CreateTrigger>;

const { slug: _, ...changeable } = fields;
export const ChangeTrigger = z.strictObject(changeable).partial();
export type ChangeTrigger = z.infer<typeof ChangeTrigger>;

export const TriggerId = z.strictObject({ id: z.string().max(64) });
export const AgentName = z.strictObject({ name: z.string().min(1).max(200) });

export const TriggerType = z
  .object({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    instructions: z.string().nullable().describe("What to do at the toolkit itself, if anything."),
    toolkit: z.string(),
    delivery: z
      .enum(["webhook", "poll"])
      .describe("Whether the provider is told of events or asks for them."),
    config: z.record(z.string(), z.unknown()).describe("JSON Schema of a trigger's config."),
  })
  .meta({ id: "TriggerType" });
export type TriggerType = z.infer<typeof TriggerType>;

export const ListTriggerTypes = z.strictObject({
  toolkit: z
    .string()
    .regex(/^[\w.-]{1,100}$/, "This is not the name of a toolkit.")
    .optional()
    .describe("Only types of this toolkit; left out: of all that the caller has an account at."),
});
export type ListTriggerTypes = z.infer<typeof ListTriggerTypes>;

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((part) => isShallow(part, depth - 1));
}
