export { followEvalRuns } from "./case-job.ts";
export { createDiskEvals, type DiskCase, unavailableTools } from "./disk-evals.ts";
export { evalEndpoints } from "./endpoints.ts";
export { createEvals, type Evals } from "./service.ts";
