import type { Queryable, Tx } from "../platform/db/index.ts";
import type { Account, Scope } from "./budget.ts";
import { fromNano, monthOf } from "./budget.ts";

/** A sum of costs. */
export interface Spent extends Account {
  usd: number;
  /** Runs that asked a model whose price is not known; they count 0. */
  unpricedRuns: number;
}

interface SumRow extends Account {
  // Sums come as texts from MySQL.
  nano: number | string;
  unpriced: number | string;
}

const key = ["workspace_id", "period", "scope", "name", "shard"] as const;

/** Adds the cost of a run to its sums, to the rows of the caller's shard. */
export async function addSpending(
  tx: Tx,
  { workspaceId, accounts, shard }: { workspaceId: string; accounts: readonly Account[]; shard: number },
  { nanoUsd, unpricedRuns }: { nanoUsd: number; unpricedRuns: number },
): Promise<void> {
  const rows = accounts.map((account) => ({
    workspace_id: workspaceId,
    ...account,
    shard,
    nano_usd: nanoUsd,
    unpriced_runs: unpricedRuns,
  }));
  // What is added is the same for all of them, so one statement says it in words that all engines know.
  await tx("spending")
    .insert(rows)
    .onConflict([...key])
    .merge({
      nano_usd: tx.raw("spending.nano_usd + ?", [nanoUsd]),
      unpriced_runs: tx.raw("spending.unpriced_runs + ?", [unpricedRuns]),
    });
}

/** The sums of a workspace in these periods; with `names` only those of these agents, members and '' for its own. */
export async function sumsOf(
  q: Queryable,
  workspaceId: string,
  periods: readonly string[],
  names?: readonly string[],
): Promise<Spent[]> {
  const query = q("spending")
    .where({ workspace_id: workspaceId })
    .whereIn("period", periods)
    .groupBy("period", "scope", "name")
    .select("period", "scope", "name")
    .sum<SumRow[]>({ nano: "nano_usd", unpriced: "unpriced_runs" });
  // Beside the scopes a range of the primary key begins with the names, too.
  const scopes: readonly Scope[] = ["agent", "member", "workspace"];
  if (names) query.whereIn("scope", scopes).whereIn("name", names);
  return (await query).map(({ period, scope, name, nano, unpriced }) => ({
    ...{ period, scope, name },
    usd: fromNano(Number(nano)),
    unpricedRuns: Number(unpriced),
  }));
}

/** What a run's stored cost is, in dollars: as much of it as was added to the sums. */
export async function storedCost(q: Queryable, runId: string): Promise<number> {
  return Number((await q("runs").where({ id: runId }).first("cost_usd"))?.cost_usd ?? 0);
}

export interface Notice extends Account {
  workspaceId: string;
  state: "warning" | "exceeded";
}

const noticeKey = ({ workspaceId, scope, name, period, state }: Notice) => ({
  workspace_id: workspaceId,
  ...{ scope, name, period, state },
});

export async function isNoticed(q: Queryable, notice: Notice): Promise<boolean> {
  return (await q("budget_notices").where(noticeKey(notice)).first("state")) !== undefined;
}

/** Throws a unique violation when there is such a notice. */
export async function insertNotice(tx: Tx, notice: Notice, now: number): Promise<void> {
  await tx("budget_notices").insert({ ...noticeKey(notice), noticed_at: now });
}

const keptMs = 62 * 86_400_000;

/** Forgets sums and notices of periods that are long over. */
export async function forgetOldSpending(tx: Tx, now: number): Promise<void> {
  // Days sort behind their month.
  const oldest = monthOf(now - keptMs);
  await tx("spending").where("period", "<", oldest).delete();
  await tx("budget_notices").where("period", "<", oldest).delete();
}
