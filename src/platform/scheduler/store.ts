import type { Queryable, Tx } from "../db/index.ts";
import type { AgendaJobRow, DefinitionColumns, StateColumns } from "./agenda-job-row.ts";

/** Which jobs are meant; every field that is given narrows. */
export interface JobFilter {
  ids?: readonly string[] | undefined;
  names?: readonly string[] | undefined;
  notNames?: readonly string[] | undefined;
}

const jobs = (q: Queryable) => q<AgendaJobRow>("agenda_jobs");

/** Few enough for one statement on both engines. */
const chunkSize = 500;

export async function findJobs(q: Queryable, filter: JobFilter): Promise<AgendaJobRow[]> {
  const query = jobs(q);
  if (filter.ids) query.whereIn("id", filter.ids);
  if (filter.names) query.whereIn("name", filter.names);
  if (filter.notNames) query.whereNotIn("name", filter.notNames);
  return query;
}

export async function findByUniqueKey(q: Queryable, key: string): Promise<AgendaJobRow | undefined> {
  return jobs(q).where({ unique_key: key }).first();
}

export async function jobNames(q: Queryable): Promise<string[]> {
  return jobs(q).distinct("name").pluck("name");
}

/** Number of jobs that were to run before `now`. */
export async function countDue(q: Queryable, now: number): Promise<number> {
  const row = await q("agenda_jobs").where("next_run_at", "<", now).count({ n: "*" }).first();
  return Number(row?.n ?? 0);
}

/**
 * The job of that name to be executed next: a free one that is due until `until`, or else one whose lock is
 * as old as `lockDeadline`. Two statements, since each is a short walk along its index, and both together are not.
 */
export async function nextJob(
  q: Queryable,
  name: string,
  until: number,
  lockDeadline: number,
): Promise<AgendaJobRow | undefined> {
  const enabled = () => jobs(q).where({ name, disabled: 0 });
  const due = await enabled()
    .whereNull("locked_at")
    .where("next_run_at", "<=", until)
    .orderBy([{ column: "next_run_at" }, { column: "priority", order: "desc" }])
    .first();
  return due ?? enabled().where("locked_at", "<=", lockDeadline).orderBy("locked_at").first();
}

/** Locks the job if it is as it was read: free or locked at the same instant, to be run at the same one. */
export async function lockUnchanged(tx: Tx, job: AgendaJobRow, at: number): Promise<boolean> {
  const { id, name, locked_at, next_run_at } = job;
  const changed = await jobs(tx)
    .where({ id, name, locked_at, next_run_at, disabled: 0 })
    .update({ locked_at: at });
  return changed === 1;
}

/** Inserts the job unless there is one with its unique key. */
export async function insertJob(tx: Tx, row: AgendaJobRow): Promise<void> {
  await jobs(tx).insert(row).onConflict("unique_key").ignore();
}

export async function updateDefinition(
  tx: Tx,
  id: string,
  columns: Partial<DefinitionColumns>,
): Promise<boolean> {
  return (await jobs(tx).where({ id }).update(columns)) === 1;
}

export async function updateState(tx: Tx, id: string, name: string, columns: StateColumns): Promise<boolean> {
  return (await jobs(tx).where({ id, name }).update(columns)) === 1;
}

export async function setDisabled(tx: Tx, ids: readonly string[], disabled: 0 | 1): Promise<number> {
  return inChunks(ids, (some) => jobs(tx).whereIn("id", some).update({ disabled }));
}

/** Frees jobs; with `waiting` those only that are still to be run. */
export async function unlock(tx: Tx, ids: readonly string[], { waiting = false } = {}): Promise<void> {
  await inChunks(ids, (some) => {
    const query = jobs(tx).whereIn("id", some);
    if (waiting) query.whereNotNull("next_run_at");
    return query.update({ locked_at: null });
  });
}

export async function deleteJobs(tx: Tx, ids: readonly string[]): Promise<number> {
  return inChunks(ids, (some) => jobs(tx).whereIn("id", some).delete());
}

/** Deletes every job there is. */
export async function deleteAllJobs(tx: Tx): Promise<number> {
  return jobs(tx).delete();
}

async function inChunks(
  ids: readonly string[],
  change: (some: readonly string[]) => PromiseLike<number>,
): Promise<number> {
  let changed = 0;
  for (let from = 0; from < ids.length; from += chunkSize)
    changed += await change(ids.slice(from, from + chunkSize));
  return changed;
}
