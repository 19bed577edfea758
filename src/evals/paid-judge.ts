import { addUsd, BudgetExceeded, type Budgets, type Payer } from "../runs/index.ts";
import type { Settings } from "../settings/index.ts";
import type { Judge, JudgedCase, Opinion } from "./judge.ts";

export interface PaidJudgeDeps {
  settings: Pick<Settings, "modelKeys" | "evals">;
  budgets: Pick<Budgets, "guardCalls">;
  askJudge: Judge;
}

/**
 * Makes the function that has the workspace's judge asked, unless nothing is left of a budget that its calls count
 * towards. Whoever stores the opinion charges what it cost, in dollars.
 */
export function createPaidJudge({ settings, budgets, askJudge }: PaidJudgeDeps) {
  return async (
    payer: Payer,
    judged: JudgedCase,
    signal: AbortSignal,
  ): Promise<Opinion & { costUsd: number }> => {
    const [{ judgeModel: model }, keys] = await Promise.all([
      settings.evals(payer.workspaceId),
      settings.modelKeys(payer.workspaceId),
    ]);
    const refusal = model === null ? undefined : await refusalOf(payer);
    if (refusal !== undefined)
      return { passed: null, reason: `The judge was not asked. ${refusal}`, costUsd: 0 };
    let costUsd = 0;
    const spent = (usd: number) => {
      costUsd = addUsd(costUsd, usd);
    };
    const opinion = await askJudge(judged, { model, keys, signal, spent });
    return { ...opinion, costUsd };
  };

  async function refusalOf(payer: Payer): Promise<string | undefined> {
    const guard = await budgets.guardCalls(payer);
    return guard.start().then(
      () => undefined,
      (error) => {
        if (error instanceof BudgetExceeded) return error.refusal;
        throw error;
      },
    );
  }
}
