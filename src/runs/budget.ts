import { type AgentSpec, RunFailure } from "../frameworks/index.ts";

type Budget = AgentSpec["budget"];

/** Throws `budget_exceeded` when the agent's earlier runs of the day have used up what it may spend. */
export function checkBudgetBefore(budget: Budget, spentToday: number): void {
  if (budget?.usdPerDay !== undefined && spentToday >= budget.usdPerDay)
    throw dayExceeded(spentToday, budget.usdPerDay);
}

/** Throws `budget_exceeded` when a run that has cost `costUsd` so far has gone past what it or its day may cost. */
export function checkBudgetDuring(budget: Budget, costUsd: number, spentToday: number): void {
  if (budget?.usdPerRun !== undefined && costUsd > budget.usdPerRun) {
    throw new RunFailure(
      "budget_exceeded",
      `The run cost ${costUsd} USD; its budget is ${budget.usdPerRun} USD a run.`,
    );
  }
  const today = addUsd(spentToday, costUsd);
  if (budget?.usdPerDay !== undefined && today > budget.usdPerDay) throw dayExceeded(today, budget.usdPerDay);
}

/** A sum of dollars without the dust that binary fractions leave behind. */
export function addUsd(a: number, b: number): number {
  return Math.round((a + b) * 1e12) / 1e12;
}

function dayExceeded(spent: number, budget: number): RunFailure {
  return new RunFailure(
    "budget_exceeded",
    `The agent cost ${spent} USD today; its budget is ${budget} USD a day.`,
  );
}
