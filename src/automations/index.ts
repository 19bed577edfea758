export { automationEndpoints } from "./endpoints.ts";
export { forgetOldFires } from "./fire-store.ts";
export { automationOwnership } from "./ownership.ts";
export { type Automations, createAutomations } from "./service.ts";
