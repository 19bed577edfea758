import { anthropic } from "./providers/anthropic.ts";
import { google } from "./providers/google.ts";
import { offline } from "./providers/offline.ts";
import { ollama } from "./providers/ollama.ts";
import { openai } from "./providers/openai.ts";
import { openaiCompatible } from "./providers/openai-compatible.ts";
import type { ModelProvider, ProviderKey } from "./providers/provider.ts";

/** Every provider by the name that model references begin with. */
export const providers = {
  openai,
  anthropic,
  google,
  "openai-compatible": openaiCompatible,
  ollama,
  offline,
} as const satisfies Record<string, ModelProvider>;

export type ProviderId = keyof typeof providers;

/** Keys and addresses by provider, as settings and environment give them together. */
export type ModelKeys = { [P in Exclude<ProviderId, "offline">]?: ProviderKey | undefined };
