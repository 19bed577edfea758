import type { Agents } from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { BudgetSettings } from "../settings/index.ts";
import { amountFor, budgetOf, dayOf, endOf, monthOf, type Scope, stateOf } from "./budget.ts";
import type { BudgetLine, BudgetReport } from "./schema.ts";
import { type Spent, sumsOf } from "./spending-store.ts";

/** Agents and members that are listed, those that cost most; nobody reads more. */
const mostOfAScope = 200;

export interface BudgetReportDeps {
  db: Database;
  clock: Clock;
  agents: Pick<Agents, "resolve" | "spec">;
  /** What the workspace's runs may cost. */
  limits(workspaceId: string): Promise<BudgetSettings>;
}

/** Tells of each sum that goes on now what was spent and what may be. */
export function createBudgetReport({ db, clock, agents, limits }: BudgetReportDeps) {
  /** Of the version that runs when none is asked for. */
  async function specBudgetOf(workspaceId: string, agent: string) {
    try {
      const { specSha } = await agents.resolve(workspaceId, agent, undefined);
      return (await agents.spec(specSha)).budget;
    } catch {
      // The agent is gone or cannot be run at the moment; what it cost stays.
      return undefined;
    }
  }

  return async function report(workspaceId: string): Promise<BudgetReport> {
    const now = clock();
    const [set, sums] = await Promise.all([
      limits(workspaceId),
      sumsOf(db.read, workspaceId, [dayOf(now), monthOf(now)]),
    ]);
    const lineOf = async ({ scope, name, period, usd, unpricedRuns }: Spent): Promise<BudgetLine> => {
      const spec = scope === "agent" ? await specBudgetOf(workspaceId, name) : undefined;
      const amountUsd = amountFor(scope, set, spec);
      const account = { scope, name, period };
      const budget = budgetOf({ ...account, amountUsd: amountUsd ?? 0 }, usd);
      const state = amountUsd === null ? "ok" : stateOf(budget, set.warnAt);
      return { ...budget, resetsAt: endOf(period), amountUsd, unpricedRuns, state };
    };
    const ofScope = (scope: Scope) =>
      sums
        .filter((sum) => sum.scope === scope)
        .sort((a, b) => b.usd - a.usd)
        .slice(0, mostOfAScope);
    const nothing: Spent = { scope: "workspace", name: "", period: monthOf(now), usd: 0, unpricedRuns: 0 };
    const [workspace = nothing] = ofScope("workspace");
    const lines = [workspace, ...ofScope("member"), ...ofScope("agent")].map(lineOf);
    return { warnAt: set.warnAt, usdPerRun: set.usdPerRun, caps: await Promise.all(lines) };
  };
}
