export type { Consider, Subject } from "./ports.ts";
export { createPullRequests } from "./service.ts";
export { createIsHead, createStatusPosts, createSuiteEnded } from "./signals.ts";
