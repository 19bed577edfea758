export { agentEndpoints } from "./endpoints.ts";
export { formatReport } from "./format-report.ts";
export { agentJsonSchema, evalJsonSchema } from "./json-schemas.ts";
export { type Agents, createAgents, type RunnableVersion } from "./service.ts";
export { type CatalogSync, createCatalogSync } from "./sync.ts";
export { validatePaths } from "./validate-paths.ts";
