import { z } from "zod";

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
});
export type SettingsRecord = z.infer<typeof SettingsRecord>;

function isPlainHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  // The parser drops white space and control characters that would stay in what is stored.
  if (!url || !/^https?:\/\/[\x21-\x7e]+$/i.test(text)) return false;
  return url.username === "" && url.password === "";
}
