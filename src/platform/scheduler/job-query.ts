import { isDeepStrictEqual } from "node:util";
import {
  computeJobState,
  type JobParameters,
  type JobsOverview,
  type JobsQueryOptions,
  type JobsResult,
  type JobsSort,
  type JobWithState,
  type RemoveJobsOptions,
} from "agenda";
import type { JobFilter } from "./store.ts";

/** What the database narrows by; undefined when nothing of that kind is asked for. */
export function filterOf(options: JobsQueryOptions & RemoveJobsOptions): JobFilter | undefined {
  const { id, ids, name, names, notNames } = options;
  const filter: JobFilter = {};
  if (id) filter.ids = [id];
  else if (ids?.length) filter.ids = ids;
  if (name) filter.names = [name];
  else if (names?.length) filter.names = names;
  else if (notNames?.length) filter.notNames = notNames;
  return Object.keys(filter).length > 0 ? filter : undefined;
}

/** Whether the job's data has all of `wanted`; what `wanted` leaves out may be anything. */
export function hasData(job: JobParameters, wanted: unknown): boolean {
  return wanted === undefined || contains(job.data, wanted);
}

/** The jobs that the options ask for, with the states that they have at `now`. */
export function pageOf(jobs: readonly JobParameters[], options: JobsQueryOptions, now: Date): JobsResult {
  const { search, state, data, includeDisabled = true, skip = 0, limit = 0 } = options;
  const matching = jobs
    .filter((job) => includeDisabled || !job.disabled)
    .filter((job) => !search || job.name.toLowerCase().includes(search.toLowerCase()))
    .filter((job) => hasData(job, data))
    .flatMap((job): JobWithState[] =>
      job._id ? [{ ...job, _id: job._id, state: computeJobState(job, now) }] : [],
    )
    .filter((job) => !state || (state === "paused" ? job.disabled === true : job.state === state))
    .sort(orderOf(options.sort));
  return { jobs: matching.slice(skip, limit > 0 ? skip + limit : undefined), total: matching.length };
}

/** Number of jobs by name and state. A disabled job counts as paused and as what it would be otherwise. */
export function overviewOf(jobs: readonly JobParameters[], now: Date): JobsOverview[] {
  const overviews = new Map<string, JobsOverview>();
  for (const job of jobs) {
    const overview = overviews.get(job.name) ?? {
      name: job.name,
      total: 0,
      running: 0,
      scheduled: 0,
      queued: 0,
      completed: 0,
      failed: 0,
      repeating: 0,
      paused: 0,
    };
    overviews.set(job.name, overview);
    overview.total += 1;
    overview[computeJobState(job, now)] += 1;
    if (job.disabled) overview.paused += 1;
  }
  return [...overviews.values()];
}

function contains(actual: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted)) return isDeepStrictEqual(actual, wanted);
  return isRecord(actual) && Object.entries(wanted).every(([key, value]) => contains(actual[key], value));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Jobs without a value come first in ascending order, as on MongoDB. */
function orderOf(sort: JobsSort = { nextRunAt: "desc", lastRunAt: "desc" }) {
  const keys = Object.keys(sort) as (keyof JobsSort)[];
  return (a: JobParameters, b: JobParameters): number => {
    for (const key of keys) {
      const order = compare(a[key], b[key]);
      if (order !== 0) return sort[key] === "asc" ? order : -order;
    }
    return 0;
  };
}

function compare(a: unknown, b: unknown): number {
  const [left, right] = [sortable(a), sortable(b)];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function sortable(value: unknown): number | string {
  if (value === undefined || value === null) return Number.NEGATIVE_INFINITY;
  if (value instanceof Date) return value.getTime();
  return typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);
}
