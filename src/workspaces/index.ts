export { workspaceEndpoints } from "./endpoints.ts";
export { ensureWorkspace } from "./ensure-workspace.ts";
export { findWorkspace, type Workspace } from "./store.ts";
