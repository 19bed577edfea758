export { createTriggers, type Triggers } from "./triggers.ts";
