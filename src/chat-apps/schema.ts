import { z } from "zod";
import { Instant, line } from "../platform/http/index.ts";
import { platformNames } from "./platforms/index.ts";

/** `configuring` until an admin has installed the app at its platform, and again when the platform took that back. */
export const chatAppStates = ["configuring", "live"] as const;
export type ChatAppState = (typeof chatAppStates)[number];

export const ChatApp = z
  .object({
    id: z.string(),
    name: z.string(),
    platform: z.enum(platformNames),
    labels: z.array(z.string()),
    agentLabels: z.array(z.string()).describe("The bot may launch agents that carry one of these labels."),
    defaultAgent: z.string().nullable().describe("Answers when nobody names an agent."),
    emailDomains: z
      .array(z.string())
      .describe("Verified addresses of these domains stand for the member whose login is the part before @."),
    owner: z.string().describe("Login of the member whom runs of everybody else run as."),
    enabled: z.boolean(),
    state: z.enum(chatAppStates),
    stateReason: z.string().optional().describe("Why it has to be installed again."),
    hasSecrets: z.boolean().describe("Whether all secrets are set that an installation needs."),
    team: z
      .object({ id: z.string(), name: z.string() })
      .optional()
      .describe("Where at the platform it is installed."),
    eventsUrl: z.string().describe("Where the platform posts events to."),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: "ChatApp" });
export type ChatApp = z.infer<typeof ChatApp>;

const Secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,500}$/, "Use the 1 to 500 printable characters that the platform shows.");

const Label = line(100);
const Labels = z.array(Label).max(50);

const fields = {
  name: line(100),
  labels: Labels,
  agentLabels: Labels,
  defaultAgent: line(200).nullable(),
  emailDomains: z
    .array(
      z
        .string()
        .max(253)
        .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, "Use a domain in lower case, such as example.com."),
    )
    .max(20)
    .describe("Domains whose addresses only your own people have; never one of a public mail provider."),
  owner: line(191).describe("Login of a member with the operator role."),
  secrets: z
    .strictObject({ clientId: Secret, clientSecret: Secret, signingSecret: Secret })
    .partial()
    .describe("As the platform shows them; never shown again. What is left out stays."),
};

export const CreateChatApp = z.strictObject({
  name: fields.name,
  platform: z.enum(platformNames).default("slack"),
  labels: fields.labels.default([]),
  agentLabels: fields.agentLabels.default([]),
  defaultAgent: fields.defaultAgent.default(null),
  emailDomains: fields.emailDomains.default([]),
  owner: fields.owner.optional(),
  secrets: fields.secrets.optional(),
});
export type CreateChatApp = z.infer<typeof CreateChatApp>;

export const ChangeChatApp = z.strictObject({ ...fields, enabled: z.boolean() }).partial();
export type ChangeChatApp = z.infer<typeof ChangeChatApp>;

export const ChatAppId = z.strictObject({ id: z.string().max(64) });

export const InstallLink = z.object({
  url: z.string().describe("Opens once, within 15 minutes, in the browser of whoever installs the app."),
  expiresAt: Instant,
});
export type InstallLink = z.infer<typeof InstallLink>;

export const AppManifest = z.object({
  manifest: z.record(z.string(), z.unknown()),
  yaml: z.string().describe("The same as text to paste."),
});
export type AppManifest = z.infer<typeof AppManifest>;
