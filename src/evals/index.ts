export { followEvalRuns } from "./case-job.ts";
export { createDiskEvals, type DiskCase, unavailableTools } from "./disk-evals.ts";
export { evalEndpoints } from "./endpoints.ts";
export type { PostingSuite, StatusPosts, SuiteEnded } from "./ports.ts";
export type { PreparedSuite } from "./prepare.ts";
export type { SuiteState, Verdict, VerdictCase } from "./present.ts";
export { createEvals, type Evals } from "./service.ts";
