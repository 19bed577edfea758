export { costUsd } from "./pricing.ts";
export type { ModelKeys } from "./registry.ts";
export { configuredProviders, resolveModel } from "./resolve.ts";
export type { ModelConnection, TokenUsage } from "./types.ts";
