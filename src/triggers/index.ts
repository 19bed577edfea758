export { triggerOwnership } from "./ownership.ts";
export { createTriggers } from "./triggers.ts";
