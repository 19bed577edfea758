export { addUsd, checkSpecBudget } from "./budget.ts";
export { type Budgets, createBudgets } from "./budgets.ts";
export { budgetEndpoints, runEndpoints } from "./endpoints.ts";
export { createExecutor, type Executor, type ExecutorDeps } from "./execute.ts";
export type { FollowUps } from "./ports.ts";
export { createRunSignals, type RunSignals, untilEnded } from "./run-signals.ts";
export { createRuns, isFinal, type Runs } from "./service.ts";
export { forgetOldSpending } from "./spending-store.ts";
export type { RunRow } from "./store.ts";
