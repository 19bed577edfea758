export { addUsd, checkBudgetDuring } from "./budget.ts";
export { runEndpoints } from "./endpoints.ts";
export { createExecutor, type Executor } from "./execute.ts";
export type { FollowUps } from "./ports.ts";
export { createRunSignals, type RunSignals, untilEnded } from "./run-signals.ts";
export { createRuns, isFinal, type Runs } from "./service.ts";
export type { RunRow } from "./store.ts";
