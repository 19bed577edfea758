export { createAuthor } from "./author.ts";
export { agentChangeEndpoints } from "./endpoints.ts";
export { createAgentChanges } from "./service.ts";
