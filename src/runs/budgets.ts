import { randomInt } from "node:crypto";
import type { AgentSpec } from "../frameworks/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import { type Database, isAway, isUniqueViolation, type Tx } from "../platform/db/index.ts";
import { unprocessable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import type { BudgetSettings } from "../settings/index.ts";
import {
  type Account,
  accountsOf,
  addUsd,
  type Budget,
  BudgetExceeded,
  type BudgetState,
  budgetOf,
  type Cap,
  capsOn,
  isOverdrawn,
  refusalOf,
  runBudget,
  stateOf,
  toNano,
} from "./budget.ts";
import { type BudgetReportDeps, createBudgetReport } from "./budget-report.ts";
import {
  type Addition,
  addSpending,
  insertNotice,
  isNoticed,
  storedCosts,
  sumsOf,
} from "./spending-store.ts";
import type { RunRow, RunSpending } from "./store.ts";

export interface BudgetsDeps extends BudgetReportDeps {
  logger: Logger;
}

type Spender = Pick<RunRow, "workspace_id" | "run_as"> & { agent: string | null };

/** Whose model calls are paid for outside of runs, such as those of an author of specs or a judge of evals. */
export interface Payer {
  workspaceId: string;
  /** '' for nobody. */
  login: string;
}

/** Watches over what one run, or other work with models, costs while it goes on. */
export interface RunGuard {
  /** Throws `budget_exceeded` when nothing is left of something that the run counts towards. */
  start(): Promise<void>;
  /**
   * Throws `budget_exceeded` when a cap is overdrawn by what the run has cost so far. `storedUsd` is the part of
   * it that was stored already.
   */
  spent(costUsd: number, storedUsd: number): Promise<void>;
}

interface Keeping {
  run: Spender & { id: string };
  spending: RunSpending;
  /** Epoch milliseconds. */
  at: number;
  ended: boolean;
  /** Nothing of its cost was ever stored, which saves looking. */
  fresh: boolean;
}

/** Told of caps that a run meets, each time that the state of one changes. */
export type BudgetWatcher = (budget: Budget & { state: Exclude<BudgetState, "ok"> }) => void;

export type Budgets = ReturnType<typeof createBudgets>;

/** More rows than processes, mostly; two that draw the same number wait for each other and nothing worse. */
const shards = 256;

/** Caps on what runs cost, and the sums that they are held against. */
export function createBudgets(deps: BudgetsDeps) {
  const { db, clock, logger, agents, limits } = deps;
  const shard = randomInt(shards);
  const loadSum = createBatchLoader((keys: readonly string[]) => loadSums(db, keys));

  async function usedOf(workspaceId: string, cap: Account): Promise<number> {
    return (await loadSum(sumKey(workspaceId, cap))) ?? 0;
  }

  /** The budgets of these caps with what ended runs, and stored parts of others, have used of them. */
  const budgetsOf = (workspaceId: string, caps: readonly Cap[]) =>
    Promise.all(caps.map(async (cap) => ({ cap, usedUsd: await usedOf(workspaceId, cap) })));

  function guard(
    run: Spender,
    spec: AgentSpec["budget"],
    limits: BudgetSettings,
    watch: BudgetWatcher,
  ): RunGuard {
    const { workspace_id: workspaceId, agent, run_as: runAs } = run;
    const seen = new Set<string>();
    let known = new Map<string, number>();
    const caps = () => capsOn(accountsOf({ agent, runAs }, clock()), limits, spec);

    async function observe(budget: Budget, account: Account | undefined): Promise<BudgetState> {
      const state = stateOf(budget, limits.warnAt);
      const key = `${budget.cap}\n${state}`;
      if (state === "ok" || seen.has(key)) return state;
      seen.add(key);
      watch({ ...budget, state });
      if (account) await notice(workspaceId, account, { ...budget, state });
      return state;
    }

    return {
      async start() {
        for (const { cap, usedUsd } of await budgetsOf(workspaceId, caps())) {
          known.set(sumKey(workspaceId, cap), usedUsd);
          const budget = budgetOf(cap, usedUsd);
          if ((await observe(budget, cap)) === "exceeded") throw new BudgetExceeded(budget);
        }
      },

      async spent(costUsd, storedUsd) {
        const own = runBudget(limits, spec, costUsd);
        if (own) await observe(own, undefined);
        if (own && isOverdrawn(own)) throw new BudgetExceeded(own);
        const now = caps();
        const used = await budgetsOf(workspaceId, now).catch((error) => {
          if (!isAway(error)) throw error;
          // An answer that was paid for is not thrown away because nobody can say what others cost meanwhile.
          return now.map((cap) => ({ cap, usedUsd: known.get(sumKey(workspaceId, cap)) ?? 0 }));
        });
        known = new Map(used.map(({ cap, usedUsd }) => [sumKey(workspaceId, cap), usedUsd]));
        for (const { cap, usedUsd } of used) {
          const budget = budgetOf(cap, addUsd(usedUsd, Math.max(0, costUsd - storedUsd)));
          await observe(budget, cap);
          if (isOverdrawn(budget)) throw new BudgetExceeded(budget);
        }
      },
    };
  }

  /** Logs it once in its period, whichever process is the first. Never throws: the run matters more. */
  async function notice(
    workspaceId: string,
    { scope, name, period }: Account,
    budget: Budget & { state: Exclude<BudgetState, "ok"> },
  ): Promise<void> {
    const row = { workspaceId, scope, name, period, state: budget.state };
    try {
      if (await isNoticed(db.read, row)) return;
      await db.transaction((tx) => insertNotice(tx, row, clock()));
    } catch (error) {
      if (!isUniqueViolation(error)) logger.warn({ err: error }, "a budget's state could not be noted");
      return;
    }
    const message = budget.state === "exceeded" ? "a budget is used up" : "a budget is nearly used up";
    logger.warn({ workspaceId, budget }, message);
  }

  /** Throws 422 when nothing is left of what a run of the agent as that member would count towards. */
  async function require(
    { workspaceId, login }: { workspaceId: string; login: string },
    { agent, specSha, limits }: { agent: string; specSha: string; limits: BudgetSettings },
  ): Promise<void> {
    // A spec that does not fit any more is the run's own failure.
    const spec = await agents.spec(specSha).catch(() => undefined);
    const caps = capsOn(accountsOf({ agent, runAs: login }, clock()), limits, spec?.budget);
    for (const { cap, usedUsd } of await budgetsOf(workspaceId, caps)) {
      const budget = budgetOf(cap, usedUsd);
      if (stateOf(budget, limits.warnAt) === "exceeded") throw unprocessable(refusalOf(budget), { budget });
    }
  }

  /**
   * Stores by `write` what runs have cost so far, and adds to the sums as much of it as was not stored before: the
   * sums hold what the rows of runs say. `write` answers false when one of these results does not count.
   */
  async function keep(tx: Tx, kept: readonly Keeping[], write: () => Promise<boolean>): Promise<boolean> {
    const seen = kept.filter(({ spending, fresh }) => (spending.costUsd ?? 0) > 0 && !fresh);
    const before = await storedCosts(
      tx,
      seen.map(({ run }) => run.id),
    );
    if (!(await write())) return false;
    await addSpending(tx, additionsOf(kept, before), shard);
    return true;
  }

  /** Watches over model calls outside of runs, which no cap on a run or an agent holds. */
  async function guardCalls({ workspaceId, login }: Payer): Promise<RunGuard> {
    const set = await limits(workspaceId);
    const payer = { workspace_id: workspaceId, agent: null, run_as: login };
    return guard(payer, undefined, { ...set, usdPerRun: null }, () => {});
  }

  /** Adds to the sums what such calls have cost. Once for each: in the transaction that stores what came of them. */
  async function charge(tx: Tx, { workspaceId, login }: Payer, costUsd: number): Promise<void> {
    const nanoUsd = toNano(costUsd);
    if (nanoUsd === 0) return;
    const accounts = accountsOf({ agent: null, runAs: login }, clock());
    const additions = accounts.map((account) => ({ workspaceId, account, nanoUsd, unpricedRuns: 0 }));
    await addSpending(tx, additions, shard);
  }

  return { limits, guard, guardCalls, require, keep, charge, report: createBudgetReport(deps) };
}

/** What is new of these costs, summed up for each account. */
function additionsOf(kept: readonly Keeping[], before: ReadonlyMap<string, number>): Addition[] {
  const sums = new Map<string, Addition>();
  for (const { run, spending, at, ended } of kept) {
    const { model, costUsd } = spending;
    const nanoUsd = Math.max(0, toNano(costUsd ?? 0) - toNano(before.get(run.id) ?? 0));
    const unpricedRuns = ended && model !== null && costUsd === null ? 1 : 0;
    if (nanoUsd === 0 && unpricedRuns === 0) continue;
    for (const account of accountsOf({ agent: run.agent, runAs: run.run_as }, at)) {
      const key = sumKey(run.workspace_id, account);
      const sum = sums.get(key) ?? { workspaceId: run.workspace_id, account, nanoUsd: 0, unpricedRuns: 0 };
      sums.set(key, {
        ...sum,
        nanoUsd: sum.nanoUsd + nanoUsd,
        unpricedRuns: sum.unpricedRuns + unpricedRuns,
      });
    }
  }
  return [...sums.values()];
}

const sumKey = (workspaceId: string, { scope, name, period }: Account) =>
  [workspaceId, period, scope, name].join("\n");

async function loadSums(db: Database, keys: readonly string[]): Promise<Map<string, number>> {
  const wanted = keys.map((key) => key.split("\n"));
  const found = new Map<string, number>();
  for (const [workspaceId = "", ofOne] of Map.groupBy(wanted, ([workspace]) => workspace)) {
    const periods = [...new Set(ofOne.map(([, period = ""]) => period))];
    const names = [...new Set(ofOne.map(([, , , name = ""]) => name))];
    for (const sum of await sumsOf(db.read, workspaceId, periods, names))
      found.set(sumKey(workspaceId, sum), sum.usd);
  }
  return found;
}
