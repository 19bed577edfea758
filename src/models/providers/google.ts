import type { ModelProvider } from "./provider.ts";

/** Gemini models through Google's Generative Language API. */
export const google: ModelProvider = {
  protocol: "google",
  requires: "apiKey",
  hint: "Set GOOGLE_GENERATIVE_AI_API_KEY or the google key in the workspace settings.",
  defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
};
