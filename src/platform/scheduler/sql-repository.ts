import { randomUUID } from "node:crypto";
import type { JobParameters, JobRepository, RemoveJobsOptions } from "agenda";
import type { Database, Tx } from "../db/index.ts";
import { type AgendaJobRow, definitionColumns, jobOf, stateColumns, uniqueKeyOf } from "./agenda-job-row.ts";
import { filterOf, hasData, overviewOf, pageOf } from "./job-query.ts";
import {
  countDue,
  deleteAllJobs,
  deleteJobs,
  findByUniqueKey,
  findJobs,
  insertJob,
  jobNames,
  lockUnchanged,
  nextJob,
  setDisabled,
  unlock,
  updateDefinition,
  updateState,
} from "./store.ts";

/** Tries to lock a job before leaving the rest to those who win the race for them. */
const lockTries = 10;

/**
 * Agenda's jobs in the service's own database. Polling reads outside of transactions, so looking for work
 * when there is none costs no write; locks are compare-and-set. Debouncing is refused, since nobody needs it.
 */
export function createSqlRepository(db: Database): JobRepository {
  const write = <T>(run: (tx: Tx) => Promise<T>): Promise<T> => db.commit({ run });

  async function idsOf(options: RemoveJobsOptions): Promise<string[]> {
    const filter = filterOf(options);
    if (!filter && options.data === undefined) return [];
    const rows = await findJobs(db.read, filter ?? {});
    return rows.filter((row) => hasData(jobOf(row), options.data)).map((row) => row.id);
  }

  const setDisabledWhere = async (options: RemoveJobsOptions, disabled: 0 | 1) => {
    const ids = await idsOf(options);
    return ids.length === 0 ? 0 : write((tx) => setDisabled(tx, ids, disabled));
  };

  return {
    async connect() {},
    async getJobById(id) {
      const [row] = await findJobs(db.read, { ids: [id] });
      return row ? jobOf(row) : null;
    },
    async queryJobs(options = {}) {
      const rows = await findJobs(db.read, filterOf(options) ?? {});
      return pageOf(rows.map(jobOf), options, new Date());
    },
    async getJobsOverview() {
      return overviewOf((await findJobs(db.read, {})).map(jobOf), new Date());
    },
    getDistinctJobNames: () => jobNames(db.read),
    getQueueSize: () => countDue(db.read, Date.now()),
    saveJob: (job) => saveJob(db, write, job),
    async saveJobState(job) {
      const { _id: id, name } = job;
      if (id && (await write((tx) => updateState(tx, id, name, stateColumns(job))))) return;
      throw new Error(`Agenda's job ${id} (${name}) does not exist any more.`);
    },
    async lockJob(job) {
      const [row] = await findJobs(db.read, { ids: job._id ? [job._id] : [] });
      if (!row || row.locked_at !== null || row.next_run_at !== (job.nextRunAt?.getTime() ?? null))
        return undefined;
      return lock(write, row, Date.now());
    },
    async unlockJob({ _id }) {
      if (_id) await write((tx) => unlock(tx, [_id], { waiting: true }));
    },
    async unlockJobs(ids) {
      if (ids.length > 0) await write((tx) => unlock(tx, ids));
    },
    async getNextJobToRun(name, nextScanAt, lockDeadline, now = new Date()) {
      for (let tries = 0; tries < lockTries; tries++) {
        const row = await nextJob(db.read, name, nextScanAt.getTime(), lockDeadline.getTime());
        if (!row) return undefined;
        const locked = await lock(write, row, now.getTime());
        if (locked) return locked;
      }
      return undefined;
    },
    async removeJobs(options) {
      const ids = await idsOf(options);
      return ids.length === 0 ? 0 : write((tx) => deleteJobs(tx, ids));
    },
    disableJobs: (options) => setDisabledWhere(options, 1),
    enableJobs: (options) => setDisabledWhere(options, 0),
    purgeAllJobs: () => write(deleteAllJobs),
  };
}

type Write = <T>(run: (tx: Tx) => Promise<T>) => Promise<T>;

/** The job as it is locked now; undefined when another process was faster. */
async function lock(write: Write, row: AgendaJobRow, at: number): Promise<JobParameters | undefined> {
  const won = await write((tx) => lockUnchanged(tx, row, at));
  return won ? jobOf({ ...row, locked_at: at }) : undefined;
}

async function saveJob<DATA>(
  db: Database,
  write: Write,
  job: JobParameters<DATA>,
): Promise<JobParameters<DATA>> {
  if (job.uniqueOpts?.debounce) throw new Error("Agenda's jobs cannot be debounced on this store.");
  const saved = job._id ? await update(write, job, job._id) : await insert(db, write, job);
  return { ...saved, data: job.data };
}

/** A job that was removed meanwhile is answered as it came, as on MongoDB. */
async function update(write: Write, job: JobParameters, id: string): Promise<JobParameters> {
  return write(async (tx) => {
    await updateDefinition(tx, id, definitionColumns(job));
    const [row] = await findJobs(tx, { ids: [id] });
    return row ? jobOf(row) : job;
  });
}

async function insert(db: Database, write: Write, job: JobParameters): Promise<JobParameters> {
  const key = uniqueKeyOf(job);
  const row: AgendaJobRow = {
    id: randomUUID(),
    name: job.name,
    unique_key: key,
    ...definitionColumns(job),
    ...stateColumns(job),
  };
  const insertOnly = job.type !== "single" && job.uniqueOpts?.insertOnly === true;
  if (key !== null && insertOnly) {
    // What is there already is the common case, and finding it takes no transaction.
    const there = await findByUniqueKey(db.read, key);
    if (there) return jobOf(there);
  }
  return write(async (tx) => {
    await insertJob(tx, row);
    const kept = key === null ? row : ((await findByUniqueKey(tx, key)) ?? row);
    if (kept.id === row.id || insertOnly) return jobOf(kept);
    const columns = changesOf(job);
    await updateDefinition(tx, kept.id, columns);
    return jobOf({ ...kept, ...columns });
  });
}

/** Saving a `single` job again, as every start does, must not postpone the run that is overdue. */
function changesOf(job: JobParameters): Partial<AgendaJobRow> {
  const { next_run_at, ...columns } = definitionColumns(job);
  const overdue = job.type === "single" && next_run_at !== null && next_run_at <= Date.now();
  return overdue ? columns : { ...columns, next_run_at };
}
