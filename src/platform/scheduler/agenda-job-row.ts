import { createHash } from "node:crypto";
import { type JobParameters, toJobId } from "agenda";
import { z } from "zod";
import { fromJson, toJson } from "../db/index.ts";

/** A row of `agenda_jobs`; instants in epoch milliseconds. */
export interface AgendaJobRow {
  id: string;
  name: string;
  /** Hash of what may be there once only; null for a job like others. */
  unique_key: string | null;
  priority: number;
  next_run_at: number | null;
  locked_at: number | null;
  disabled: 0 | 1;
  definition: string;
  state: string;
}

/** The columns that saving a job writes. Locks and the state belong to the process that executes it. */
export type DefinitionColumns = Pick<AgendaJobRow, "priority" | "next_run_at" | "disabled" | "definition">;

/** The columns that executing a job writes. */
export type StateColumns = Pick<AgendaJobRow, "next_run_at" | "locked_at" | "state">;

const date = z.coerce.date().optional();

/** Fields of a job that its author sets and that nobody searches by. */
const Definition = z.object({
  type: z.enum(["normal", "single"]),
  data: z.unknown().optional(),
  repeatInterval: z.union([z.string(), z.number()]).optional(),
  repeatAt: z.string().optional(),
  repeatTimezone: z.string().optional(),
  startDate: date,
  endDate: date,
  skipDays: z.array(z.number()).optional(),
  fork: z.boolean().optional(),
});

/** Fields of a job that its executions set. */
const State = z.object({
  lastRunAt: date,
  lastFinishedAt: date,
  failedAt: date,
  failCount: z.number().optional(),
  failReason: z.string().optional(),
  progress: z.number().optional(),
});

export function jobOf(row: AgendaJobRow): JobParameters {
  const { data, ...definition } = fromJson(Definition, row.definition);
  return {
    _id: toJobId(row.id),
    name: row.name,
    priority: row.priority,
    nextRunAt: dateOf(row.next_run_at) ?? null,
    lockedAt: dateOf(row.locked_at),
    disabled: row.disabled === 1,
    data,
    ...definition,
    ...fromJson(State, row.state),
  };
}

export function definitionColumns(job: JobParameters): DefinitionColumns {
  return {
    priority: job.priority,
    next_run_at: instantOf(job.nextRunAt),
    disabled: job.disabled ? 1 : 0,
    definition: toJson(Definition.parse(job)),
  };
}

export function stateColumns(job: JobParameters): StateColumns {
  return {
    next_run_at: instantOf(job.nextRunAt),
    locked_at: instantOf(job.lockedAt),
    state: toJson(State.parse(job)),
  };
}

/**
 * What two jobs have in common of which only one may exist: the name for Agenda's `single` jobs, otherwise
 * name and constraint. Unlike in MongoDB the constraint is no query: jobs are alike when theirs are equal.
 */
export function uniqueKeyOf({ name, type, unique }: JobParameters): string | null {
  if (type !== "single" && !unique) return null;
  const sorted = Object.entries(unique ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([name, type === "single" ? "single" : sorted]);
  return createHash("sha256").update(text).digest("hex");
}

function instantOf(value: Date | null | undefined): number | null {
  return value ? new Date(value).getTime() : null;
}

function dateOf(instant: number | null): Date | undefined {
  return instant === null ? undefined : new Date(instant);
}
