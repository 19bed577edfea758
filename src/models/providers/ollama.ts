import type { ModelProvider } from "./provider.ts";

/** Ollama through the chat completions it serves below `/v1`. */
export const ollama: ModelProvider = {
  protocol: "openai-compatible",
  requires: "baseUrl",
  hint: "Set OLLAMA_BASE_URL, for example http://127.0.0.1:11434, or the ollama entry in the workspace settings.",
  basePath: "/v1",
};
