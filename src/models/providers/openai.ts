import type { ModelProvider } from "./provider.ts";

/**
 * OpenAI through its Responses API. A base URL of one's own keeps that API: it is meant for gateways in
 * front of OpenAI; servers that know chat completions only belong to `openai-compatible`.
 */
export const openai: ModelProvider = {
  protocol: "openai",
  requires: "apiKey",
  hint: "Set OPENAI_API_KEY or the openai key in the workspace settings.",
  // Always explicit: left out, client libraries would look for an address in the environment themselves.
  defaultBaseUrl: "https://api.openai.com/v1",
};
