import type { Database } from "../platform/db/index.ts";
import type { Job } from "../platform/jobs/index.ts";
import type { Budgets, Payer } from "../runs/index.ts";
import type { Till } from "./author.ts";
import type { ChangeRow } from "./store.ts";

export interface TillDeps {
  db: Database;
  budgets: Pick<Budgets, "guardCalls" | "charge">;
}

/**
 * Where the model calls of a change are paid for: by the member who asked for it, and the workspace. Each call is
 * charged by itself as soon as it was made, so that those of a worker that dies later count as well, and none twice.
 * Throws BudgetExceeded when a cap does not let the next call be made.
 */
export function createTill(
  { db, budgets }: TillDeps,
  job: Pick<Job<unknown>, "hold">,
  { workspace_id, requested_by }: ChangeRow,
): Till {
  const payer: Payer = { workspaceId: workspace_id, login: requested_by };
  let guard: ReturnType<typeof budgets.guardCalls> | undefined;
  /** Looked up when a model is asked, and only then. */
  const guarded = () => {
    guard ??= budgets.guardCalls(payer);
    return guard;
  };
  return {
    async start() {
      await (await guarded()).start();
    },
    async spent(usd) {
      await db.transaction(async (tx) => {
        await job.hold(tx);
        await budgets.charge(tx, payer, usd);
      });
      await (await guarded()).spent(usd, usd);
    },
  };
}
