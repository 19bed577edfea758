export { workspaceEndpoints } from "./endpoints.ts";
export { ensureWorkspace } from "./ensure-workspace.ts";
export type { DescribeRepository, RepositoryFacts } from "./ports.ts";
export { findWorkspace, type Workspace } from "./store.ts";
