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

/** What is to be added to one sum. */
export interface Addition {
  workspaceId: string;
  account: Account;
  nanoUsd: number;
  unpricedRuns: number;
}

/** Adds costs to their sums, to the rows of the caller's shard. Each sum is named once. */
export async function addSpending(tx: Tx, additions: readonly Addition[], shard: number): Promise<void> {
  // Where the same is added one statement says it in words that all engines know, and most often it is the same.
  const alike = Map.groupBy(additions, ({ nanoUsd, unpricedRuns }) => `${nanoUsd} ${unpricedRuns}`);
  for (const some of alike.values()) await addAlike(tx, some, shard);
}

async function addAlike(tx: Tx, additions: readonly Addition[], shard: number): Promise<void> {
  const rows = additions.map(({ workspaceId, account, nanoUsd, unpricedRuns }) => ({
    workspace_id: workspaceId,
    ...account,
    shard,
    nano_usd: nanoUsd,
    unpriced_runs: unpricedRuns,
  }));
  const [{ nanoUsd, unpricedRuns } = { nanoUsd: 0, unpricedRuns: 0 }] = additions;
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

/** What the stored costs of runs are, in dollars: as much of them as was added to the sums. */
export async function storedCosts(q: Queryable, runIds: readonly string[]): Promise<Map<string, number>> {
  if (runIds.length === 0) return new Map();
  const rows: { id: string; cost_usd: number | null }[] = await q("runs")
    .whereIn("id", runIds)
    .select("id", "cost_usd");
  return new Map(rows.map(({ id, cost_usd }) => [id, Number(cost_usd ?? 0)]));
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
