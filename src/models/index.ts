export { costUsd } from "./pricing.ts";
export type { ProviderKey } from "./providers/provider.ts";
export type { ModelKeys } from "./registry.ts";
export { configuredProviders, type ResolvedModel, resolveModel } from "./resolve.ts";
export type { ModelConnection, TokenUsage } from "./types.ts";
