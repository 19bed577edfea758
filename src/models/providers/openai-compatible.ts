import type { ModelProvider } from "./provider.ts";

/** Any server that speaks OpenAI's chat completions: vLLM, LM Studio, llama.cpp, gateways. The key is optional. */
export const openaiCompatible: ModelProvider = {
  protocol: "openai-compatible",
  requires: "baseUrl",
  hint: "Set OPENAI_COMPATIBLE_BASE_URL (and OPENAI_COMPATIBLE_API_KEY if the server wants a key) or the openai-compatible entry in the workspace settings.",
};
