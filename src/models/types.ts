/** A model that can be called now: which protocol it speaks, where, and with which key. */
export interface ModelConnection {
  /** As the spec has it, for example `openai/gpt-5-mini`. */
  ref: string;
  /** First part of the reference. */
  provider: string;
  /** The rest of the reference, as the provider knows the model. */
  modelId: string;
  /** Which client speaks to it. `offline` is the built-in echo and no model. */
  protocol: "openai" | "anthropic" | "google" | "openai-compatible" | "offline";
  baseUrl?: string;
  apiKey?: string;
}

/** Tokens of one or more model calls, whole numbers. `cached` is the part of `input` read from a cache. */
export interface TokenUsage {
  input: number;
  output: number;
  cached: number;
}
