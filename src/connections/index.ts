export { type BuiltinDeps, createBuiltinTools } from "./builtin/index.ts";
export { connectionEndpoints } from "./endpoints.ts";
export type { ToolSource, ToolUser } from "./ports.ts";
export { type Connections, createConnections, type MissingConnection } from "./service.ts";
