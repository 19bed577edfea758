import { z } from "zod";
import { line } from "../platform/http/index.ts";

/** A provider's key as it is sent in a header: printable, without spaces. Null removes it. */
const ApiKeyChange = z
  .string()
  .regex(/^[\x21-\x7e]{1,500}$/, "Use 1 to 500 printable characters without spaces.")
  .nullable()
  .optional();

/** Null removes it. */
const BaseUrlChange = z
  .string()
  .max(500)
  .refine(isPlainHttpUrl, "Use an http or https URL without user name and password.")
  .transform((url) => url.replace(/\/+$/, ""))
  .nullable()
  .optional();

const KeyOnly = z.strictObject({ apiKey: ApiKeyChange });
const UrlOnly = z.strictObject({ baseUrl: BaseUrlChange });
const KeyAndUrl = z.strictObject({ apiKey: ApiKeyChange, baseUrl: BaseUrlChange });

/** Providers of outside tools and events. */
export const IntegrationProviderName = z.enum(["composio"]);
export type IntegrationProviderName = z.infer<typeof IntegrationProviderName>;

const IntegrationChange = z.strictObject({
  provider: IntegrationProviderName.nullable().optional(),
  apiKey: ApiKeyChange,
  webhookSecret: z
    .string()
    .regex(/^[\x21-\x7e]{8,500}$/, "Use 8 to 500 printable characters without spaces.")
    .nullable()
    .optional()
    .describe("Key of the signatures on the provider's deliveries; null removes it."),
});

/** What belongs to HTTP itself and to MCP's own exchange cannot be set. */
const reservedHeaders =
  /^(host|connection|content-.+|transfer-encoding|accept|te|upgrade|mcp-.+|last-event-id)$/;

const HeadersChange = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "This is not the name of a header.")
      .transform((name) => name.toLowerCase())
      .refine((name) => !reservedHeaders.test(name), "This header cannot be set."),
    z
      .string()
      .regex(/^[\x21-\x7e]([\x20-\x7e]{0,3998}[\x21-\x7e])?$/, "Use 1 to 4000 printable ASCII characters."),
  )
  .refine((headers) => Object.keys(headers).length <= 20, "Use at most 20 headers.");

const McpServerChange = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/,
      "Use small letters, digits and single hyphens, a letter first; slugs begin with it.",
    )
    .max(24),
  url: z.string().max(500).refine(isPlainHttpUrl, "Use an http or https URL without user name and password."),
  headers: HeadersChange.optional().describe(
    "Sent with every request. Left out: stay as they are while the URL stays the same.",
  ),
});

/** Null removes it. Sums are kept in billionths of a dollar, which a number holds up to some millions. */
const UsdChange = z
  .number()
  .positive("Use more than 0; null removes the cap.")
  .max(1_000_000)
  .nullable()
  .optional();

const BudgetsChange = z.strictObject({
  usdPerRun: UsdChange.describe("For each run whose agent's spec sets none; null removes it."),
  usdPerAgentDay: UsdChange.describe(
    "For each agent and day (UTC) whose spec sets no usdPerDay; null removes it.",
  ),
  usdPerMemberDay: UsdChange.describe("For the runs as each member and day (UTC); null removes it."),
  usdPerWorkspaceMonth: UsdChange.describe("For all runs of a month (UTC); null removes it."),
  warnAt: z
    .number()
    .positive()
    .max(1)
    .nullable()
    .optional()
    .describe("Part of a cap from which on people are warned; null for the usual 0.8."),
});

const ModelRef = z
  .string()
  .regex(/^[a-z0-9-]+\/\S{1,200}$/, "Write the model as provider/model, for example openai/gpt-5-mini.");

/** How agent changes get into the repository. */
export const commitModes = ["pull_request", "direct"] as const;

export const SettingsChange = z.strictObject({
  budgets: BudgetsChange.optional(),
  integration: IntegrationChange.optional(),
  mcpServers: z
    .array(McpServerChange)
    .max(20)
    .refine(
      (servers) => new Set(servers.map(({ name }) => name)).size === servers.length,
      "Name each server once.",
    )
    .nullable()
    .optional()
    .describe("Servers that offer tools over MCP. Replaces the list there is; null removes it."),
  modelKeys: z
    .strictObject({
      openai: KeyAndUrl.optional(),
      anthropic: KeyOnly.optional(),
      google: KeyOnly.optional(),
      "openai-compatible": KeyAndUrl.optional(),
      ollama: UrlOnly.optional(),
    })
    .optional(),
  judgeModel: ModelRef.nullable()
    .optional()
    .describe("Model that scores the rubrics of eval cases; null removes it."),
  model: ModelRef.nullable()
    .optional()
    .describe("Model that writes agents for POST /agent-changes; null removes it."),
  commitMode: z
    .enum(commitModes)
    .nullable()
    .optional()
    .describe(
      "Whether agent changes become pull requests or commits on the served branch; null sets the default, pull_request.",
    ),
  evalOwner: line(191)
    .nullable()
    .optional()
    .describe(
      "Login of the member whose connections the evals of other people's changes use; null removes it.",
    ),
  postStatus: z
    .boolean()
    .nullable()
    .optional()
    .describe("Whether commits of pull requests get a status; null sets the default, true."),
  evalCache: z
    .boolean()
    .nullable()
    .optional()
    .describe(
      "Whether pull requests reuse what passed before with the same spec and eval file; null sets the default, true.",
    ),
});
export type SettingsChange = z.infer<typeof SettingsChange>;

const ApiKeyState = z.union([
  z.strictObject({ set: z.literal(true), source: z.enum(["workspace", "environment"]) }),
  z.strictObject({ set: z.literal(false) }),
]);
export type ApiKeyState = z.infer<typeof ApiKeyState>;

const BaseUrlState = z.string().nullable();

const SecretState = z.strictObject({ set: z.boolean() });

const Usd = z.number().nullable();

export const SettingsRecord = z.strictObject({
  budgets: z.strictObject({
    usdPerRun: Usd,
    usdPerAgentDay: Usd,
    usdPerMemberDay: Usd,
    usdPerWorkspaceMonth: Usd,
    warnAt: z.number(),
  }),
  integration: z.strictObject({
    provider: IntegrationProviderName,
    apiKey: SecretState,
    webhookSecret: SecretState,
    webhookUrl: z.string().nullable().describe("Where the provider sends events; null without ROLLCALL_URL."),
  }),
  mcpServers: z.array(
    z.strictObject({
      name: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.strictObject({ set: z.literal(true) })),
    }),
  ),
  modelKeys: z.strictObject({
    openai: z.strictObject({ apiKey: ApiKeyState, baseUrl: BaseUrlState }),
    anthropic: z.strictObject({ apiKey: ApiKeyState }),
    google: z.strictObject({ apiKey: ApiKeyState }),
    "openai-compatible": z.strictObject({ apiKey: ApiKeyState, baseUrl: BaseUrlState }),
    ollama: z.strictObject({ baseUrl: BaseUrlState }),
  }),
  judgeModel: z.string().nullable(),
  model: z.string().nullable(),
  commitMode: z.enum(commitModes),
  evalOwner: z.string().nullable(),
  postStatus: z.boolean(),
  evalCache: z.boolean(),
});
export type SettingsRecord = z.infer<typeof SettingsRecord>;

function isPlainHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  // The parser drops white space and control characters that would stay in what is stored.
  if (!url || !/^https?:\/\/[\x21-\x7e]+$/i.test(text)) return false;
  return url.username === "" && url.password === "";
}
