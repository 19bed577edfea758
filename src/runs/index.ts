export { runEndpoints } from "./endpoints.ts";
export { createExecutor, type Executor } from "./execute.ts";
export { createRunSignals } from "./run-signals.ts";
export { createRuns, type Runs } from "./service.ts";
