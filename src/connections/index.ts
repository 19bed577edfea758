export { createBuiltinTools } from "./builtin/index.ts";
export { createDocumentCache, type DocumentCache, forgetOldDocuments } from "./document-cache.ts";
export { connectionEndpoints } from "./endpoints.ts";
export { createIntegrationTools } from "./integration/index.ts";
export { loginOf, providerUserId } from "./integration/user-id.ts";
export { createMcpTools } from "./mcp/index.ts";
export type { ToolUser } from "./ports.ts";
export { type Connections, createConnections, type MissingConnection } from "./service.ts";
