import { z } from "zod";
import { Instant, line } from "../platform/http/index.ts";
import { decodeSigningSecret } from "./signature.ts";

export const Webhook = z
  .object({
    id: z.string(),
    agent: z.string(),
    name: z.string(),
    owner: z.string().describe("Login of the member whom its runs run as."),
    url: z.string().describe("Where calls are posted to; it ends in the id."),
    enabled: z.boolean(),
    tools: z
      .array(z.string())
      .nullable()
      .describe("The agent's tools that its runs are held to; null for all of them."),
    signed: z.boolean().describe("Whether calls need a signature beside the token."),
    createdAt: Instant,
    updatedAt: Instant,
    lastCalledAt: Instant.optional().describe("Last accepted call, exact to the minute."),
  })
  .meta({ id: "Webhook" });
export type Webhook = z.infer<typeof Webhook>;

/** A webhook with those of its secrets that were made now: shown this once. */
export const WebhookWithSecrets = z.object({
  webhook: Webhook,
  token: z.string().optional().describe("For Authorization: Bearer; the one before stops at once."),
  signingSecret: z.string().optional().describe("whsec_ and base64, as Standard Webhooks have it."),
});
export type WebhookWithSecrets = z.infer<typeof WebhookWithSecrets>;

const SigningSecret = z
  .string()
  .max(200)
  .refine(
    (text) => decodeSigningSecret(text) !== undefined,
    "Use whsec_ followed by the base64 of 24 to 64 bytes.",
  );

const fields = {
  name: line(100),
  owner: line(191).describe("Login; only a workspace admin names another member."),
  tools: z
    .array(line(191))
    .max(200)
    .nullable()
    .describe("Slugs out of the agent's connections; [] for no tools, null for all."),
};

export const CreateWebhook = z.strictObject({
  ...fields,
  owner: fields.owner.optional(),
  tools: fields.tools.default(null),
  signingSecret: z
    .union([z.literal(true), SigningSecret])
    .optional()
    .describe("true has a secret made and shown once; a text is the secret that the sender has made."),
});
export type CreateWebhook = z.infer<typeof CreateWebhook>;

export const ChangeWebhook = z
  .strictObject({
    ...fields,
    enabled: z.boolean(),
    signingSecret: SigningSecret.nullable().describe("The sender's own secret; null: no signature needed."),
  })
  .partial();
export type ChangeWebhook = z.infer<typeof ChangeWebhook>;

export const RotateWebhook = z.strictObject({
  secret: z
    .enum(["token", "signing", "both"])
    .default("token")
    .describe("What is made anew; signing also begins with signatures."),
});
export type RotateWebhook = z.infer<typeof RotateWebhook>;

export const WebhookId = z.strictObject({ id: z.string().max(64) });
export const AgentName = z.strictObject({ name: z.string().min(1).max(200) });
