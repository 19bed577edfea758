import { type AgentSpec, RunFailure } from "../frameworks/index.ts";

/** Tells whether a run may go on after it has cost `costUsd`, when the agent's earlier runs of the day cost `spentToday`. */
export function checkBudget(budget: AgentSpec["budget"], costUsd: number, spentToday: number): void {
  if (budget?.usdPerRun !== undefined && costUsd > budget.usdPerRun) {
    throw new RunFailure(
      "budget_exceeded",
      `The run cost ${costUsd} USD; its budget is ${budget.usdPerRun} USD a run.`,
    );
  }
  if (budget?.usdPerDay !== undefined && spentToday + costUsd >= budget.usdPerDay) {
    throw new RunFailure(
      "budget_exceeded",
      `The agent cost ${spentToday + costUsd} USD today; its budget is ${budget.usdPerDay} USD a day.`,
    );
  }
}
