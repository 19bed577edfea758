export { automationEndpoints } from "./endpoints.ts";
export { forgetOldFires } from "./fire-store.ts";
export type { AutomationOwnership } from "./ownership.ts";
export { type Automations, createAutomations } from "./service.ts";
