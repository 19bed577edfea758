export { createAuthor } from "./author.ts";
export { agentChangeEndpoints } from "./endpoints.ts";
export type { CheckSchedule, Suites } from "./ports.ts";
export { type AgentChanges, createAgentChanges } from "./service.ts";
