import type { Database, Queryable, Tx } from "../db/index.ts";

/** A row of `jobs`. `attempt` counts claims and is the fencing token of the newest one. */
export interface JobRow {
  id: string;
  kind: string;
  payload: string;
  unique_key: string | null;
  state: "queued" | "running" | "dead";
  run_at: number;
  attempt: number;
  claim: string | null;
  lease_until: number | null;
  error: string | null;
  created_at: number;
}

/** What names one claim of a job: the fence of every later statement. */
export type Claim = Pick<JobRow, "id" | "attempt" | "claim">;

/** The job's row as long as that claim of it stands. Attempts alone begin anew when a dead job is revived. */
const claimed = (q: Queryable, { id, attempt, claim }: Claim) =>
  q("jobs").where({ id, attempt, claim, state: "running" });

/** Which of the kinds have a job that is due: one statement for all of them, since every process asks all the time. */
export async function dueKinds(db: Database, kinds: readonly string[]): Promise<string[]> {
  if (kinds.length === 0) return [];
  const due = `(select kind from jobs where state = 'queued' and kind = ? and run_at <= ${db.nowSql} limit 1) as ??`;
  const columns = kinds.map((kind, index) => db.read.raw(due, [kind, `due${index}`]));
  const found: Record<string, string | null> | undefined = await db.read.select(columns).first();
  return Object.values(found ?? {}).filter((kind) => kind !== null);
}

/** Candidates for a claim, oldest first; another process may take them before the claim does. */
export async function dueJobs(db: Database, kind: string, limit: number): Promise<JobRow[]> {
  return db
    .read("jobs")
    .where({ state: "queued", kind })
    .where("run_at", "<=", db.read.raw(db.nowSql))
    .orderBy(["run_at", "id"])
    .limit(limit);
}

/**
 * Takes those of the candidates that are as they were read. `token` is a fresh id that marks them as taken
 * here; the lease holds for `leaseMs` on the database's clock.
 */
export async function claimJobs(
  db: Database,
  tx: Tx,
  candidates: readonly JobRow[],
  token: string,
  leaseMs: number,
): Promise<JobRow[]> {
  const ids = candidates.map((job) => job.id);
  let taken = 0;
  // Nearly always one statement; a candidate that was tried in between would be held under a stale attempt.
  for (const attempt of new Set(candidates.map((job) => job.attempt))) {
    const alike = candidates.filter((job) => job.attempt === attempt).map((job) => job.id);
    taken += await tx("jobs")
      .whereIn("id", alike)
      .where({ state: "queued", attempt })
      .update({
        state: "running",
        claim: token,
        attempt: attempt + 1,
        lease_until: tx.raw(`${db.nowSql} + ${leaseMs}`),
      });
  }
  if (taken < ids.length) return tx("jobs").whereIn("id", ids).where({ claim: token });
  return candidates.map((job) => ({ ...job, state: "running", claim: token, attempt: job.attempt + 1 }));
}

/** Puts back what a claim took whose commit was in doubt: nobody executes it, so that it was no attempt either. */
export async function undoClaim(tx: Tx, token: string, ids: readonly string[]): Promise<void> {
  await tx("jobs")
    .whereIn("id", ids)
    .where({ claim: token, state: "running" })
    .update({ state: "queued", claim: null, lease_until: null, attempt: tx.raw("attempt - 1") });
}

/** Prolongs the leases of one worker's jobs and tells which of them it still holds. */
export async function renewLeases(
  db: Database,
  held: readonly Claim[],
  leaseMs: number,
): Promise<Set<string>> {
  const ids = held.map((job) => job.id);
  const claims = [...new Set(held.flatMap((job) => job.claim ?? []))];
  return db.transaction(async (tx) => {
    await tx("jobs")
      .whereIn("id", ids)
      .whereIn("claim", claims)
      .update({ lease_until: tx.raw(`${db.nowSql} + ${leaseMs}`) });
    return new Set<string>(await tx("jobs").whereIn("id", ids).whereIn("claim", claims).pluck("id"));
  });
}

/** Deletes finished jobs. False: one of the leases was lost, and its work must not count. */
export async function removeJobs(tx: Tx, jobs: readonly Claim[]): Promise<boolean> {
  let removed = 0;
  for (const [claim, ofClaim] of Map.groupBy(jobs, (job) => job.claim)) {
    for (const [attempt, alike] of Map.groupBy(ofClaim, (job) => job.attempt)) {
      const ids = alike.map(({ id }) => id);
      removed += await tx("jobs").whereIn("id", ids).where({ claim, attempt, state: "running" }).delete();
    }
  }
  return removed === jobs.length;
}

/** Locks the job for the rest of the transaction. False: the lease was lost. */
export async function holdJob(tx: Tx, job: Claim): Promise<boolean> {
  return (await claimed(tx, job).forUpdate().first("id")) !== undefined;
}

/** Locks the job for the rest of the transaction. False: it was renewed, finished or taken over meanwhile. */
export async function holdExpiredJob(db: Database, tx: Tx, job: Claim): Promise<boolean> {
  const expired = claimed(tx, job).where("lease_until", "<", tx.raw(db.nowSql));
  return (await expired.forUpdate().first("id")) !== undefined;
}

/** Puts a claimed job back, due in `delayMs`. False: the lease was lost. */
export async function requeueJob(
  db: Database,
  tx: Tx,
  job: Claim,
  delayMs: number,
  error: string | null,
): Promise<boolean> {
  const changed = await claimed(tx, job).update({
    state: "queued",
    claim: null,
    lease_until: null,
    error,
    run_at: tx.raw(`${db.nowSql} + ${Math.round(delayMs)}`),
  });
  return changed === 1;
}

/** Keeps a job that will not be tried again. False: the lease was lost. */
export async function buryJob(tx: Tx, job: Claim, error: string): Promise<boolean> {
  const changed = await claimed(tx, job).update({ state: "dead", claim: null, lease_until: null, error });
  return changed === 1;
}

/** Running jobs of these kinds whose lease has run out, oldest first. */
export async function expiredJobs(db: Database, kinds: readonly string[], limit: number): Promise<JobRow[]> {
  return db
    .read("jobs")
    .where({ state: "running" })
    .whereIn("kind", kinds)
    .where("lease_until", "<", db.read.raw(db.nowSql))
    .orderBy("lease_until")
    .limit(limit);
}

/** Dead jobs, newest first. `before` is an id. */
export async function deadJobs(q: Queryable, limit: number, before?: string): Promise<JobRow[]> {
  const query = q("jobs").where({ state: "dead" }).orderBy("id", "desc").limit(limit);
  return before === undefined ? query : query.where("id", "<", before);
}

/** Gives a dead job a fresh set of tries. False: no dead job has that id. */
export async function reviveJob(db: Database, tx: Tx, id: string): Promise<boolean> {
  const changed = await tx("jobs")
    .where({ id, state: "dead" })
    .update({ state: "queued", attempt: 0, run_at: tx.raw(db.nowSql) });
  return changed === 1;
}

/** Number of jobs by state, and since when the oldest queued one waits, milliseconds of its age. */
export async function queueDepth(
  db: Database,
): Promise<{ counts: Record<string, number>; oldestMs: number }> {
  const rows: { state: string; n: number }[] = await db
    .read("jobs")
    .groupBy("state")
    .select("state")
    .count({ n: "*" });
  const oldest = await db
    .read("jobs")
    .where({ state: "queued" })
    .select(db.read.raw(`${db.nowSql} - min(created_at) as age`))
    .first();
  return {
    counts: Object.fromEntries(rows.map((row) => [row.state, Number(row.n)])),
    oldestMs: Math.max(0, Number(oldest?.age ?? 0)),
  };
}
