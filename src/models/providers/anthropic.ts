import type { ModelProvider } from "./provider.ts";

/** Anthropic's Messages API. */
export const anthropic: ModelProvider = {
  protocol: "anthropic",
  requires: "apiKey",
  hint: "Set ANTHROPIC_API_KEY or the anthropic key in the workspace settings.",
  defaultBaseUrl: "https://api.anthropic.com/v1",
};
