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

export const SettingsChange = z.strictObject({
  modelKeys: z
    .strictObject({
      openai: KeyAndUrl.optional(),
      anthropic: KeyOnly.optional(),
      google: KeyOnly.optional(),
      "openai-compatible": KeyAndUrl.optional(),
      ollama: UrlOnly.optional(),
    })
    .optional(),
  judgeModel: z
    .string()
    .regex(/^[a-z0-9-]+\/\S{1,200}$/, "Write the model as provider/model, for example openai/gpt-5-mini.")
    .nullable()
    .optional()
    .describe("Model that scores the rubrics of eval cases; null removes it."),
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

export const SettingsRecord = z.strictObject({
  modelKeys: z.strictObject({
    openai: z.strictObject({ apiKey: ApiKeyState, baseUrl: BaseUrlState }),
    anthropic: z.strictObject({ apiKey: ApiKeyState }),
    google: z.strictObject({ apiKey: ApiKeyState }),
    "openai-compatible": z.strictObject({ apiKey: ApiKeyState, baseUrl: BaseUrlState }),
    ollama: z.strictObject({ baseUrl: BaseUrlState }),
  }),
  judgeModel: z.string().nullable(),
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
