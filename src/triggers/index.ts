export { triggerOwnership } from "./ownership.ts";
export { createTriggers, type Triggers } from "./triggers.ts";
