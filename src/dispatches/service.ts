import { createBatchLoader } from "../platform/batch-loader.ts";
import { type Clock, toInstant } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import { type Role, toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Dispatch, ListDispatches } from "./schema.ts";
import {
  closeFailure,
  type DispatchRef,
  type DispatchRow,
  deleteOpen,
  listDispatches,
  lockOpen,
  openRefs,
  putFailures,
  setNextAttempt,
} from "./store.ts";

/** An attempt to start a run that failed. */
export interface DispatchFailure extends DispatchRef {
  state: "retrying" | "action_needed";
  /** Epoch milliseconds. */
  nextAttemptAt?: number;
  /** One sentence that every member may read. */
  summary: string;
  /** For workspace admins; never what a provider answered as it came. */
  diagnostics?: string;
}

/**
 * The history of what could not be started. A failure stays open until a run is queued again; what fails
 * meanwhile counts as another attempt of it, so that each of `kind` and `ref` has at most one that is open.
 */
export interface Dispatches {
  /** Opens failures or counts another attempt of open ones. */
  failed(tx: Tx, ...failures: readonly DispatchFailure[]): Promise<void>;
  /** Closes the failure that is open, if there is one: that run was the first that could be queued. */
  recovered(tx: Tx, recovery: DispatchRef & { runId: string }): Promise<void>;
  /** What was to be tried again will be so at another instant, epoch milliseconds; null: not by itself. */
  postponed(tx: Tx, ref: DispatchRef, nextAttemptAt: number | null): Promise<void>;
  /** For what is deleted: takes its open failure back, about which nobody can do anything any more. */
  withdrawn(tx: Tx, ref: DispatchRef): Promise<void>;
  /** Those of the refs, whatever their kind, that have an open failure. Look-ups of one moment share a query. */
  open(refs: readonly string[]): Promise<Set<string>>;
  list(
    workspaceId: string,
    role: Role,
    filter: ListDispatches,
  ): Promise<{ dispatches: Dispatch[]; nextBefore: string | null }>;
}

export interface DispatchesDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  redactor: Redactor;
}

const mostSummary = 500;
const mostDiagnostics = 2_000;

export function createDispatches({ db, ids, clock, redactor }: DispatchesDeps): Dispatches {
  const isOpen = createBatchLoader(
    async (refs: readonly string[]) => new Map((await openRefs(db.read, refs)).map((ref) => [ref, true])),
  );

  const rowOf = (failure: DispatchFailure, before: DispatchRow | undefined): DispatchRow => ({
    id: ids("dsp"),
    workspace_id: failure.workspaceId,
    kind: failure.kind,
    ref: failure.ref,
    open_ref: failure.ref,
    state: failure.state,
    failed_at: clock(),
    attempt: (before?.attempt ?? 0) + 1,
    next_attempt_at: failure.nextAttemptAt ?? null,
    summary: redactor.scrub(failure.summary).slice(0, mostSummary),
    // Scrubbed before it is cut: half a secret would not be known for one.
    diagnostics:
      failure.diagnostics === undefined
        ? null
        : redactor.scrub(failure.diagnostics).slice(0, mostDiagnostics),
    recovered_at: null,
    recovery_run_id: null,
  });

  return {
    async failed(tx, ...failures) {
      for (const [kind, alike] of Map.groupBy(failures, (failure) => failure.kind)) {
        const refs = alike.map(({ ref }) => ref);
        const open = await lockOpen(tx, kind, refs);
        await putFailures(
          tx,
          alike.map((failure) => rowOf(failure, open.get(failure.ref))),
        );
      }
    },
    recovered: (tx, { runId, ...ref }) => closeFailure(tx, ref, { at: clock(), runId }),
    postponed: setNextAttempt,
    withdrawn: deleteOpen,
    async open(refs) {
      const found = await Promise.all(refs.map(isOpen));
      return new Set(refs.filter((_, index) => found[index]));
    },
    async list(workspaceId, role, filter) {
      const { page, nextBefore } = toPage(await listDispatches(db.read, workspaceId, filter), filter.limit);
      return { dispatches: page.map((row) => present(row, role)), nextBefore };
    },
  };
}

function present(row: DispatchRow, role: Role): Dispatch {
  const { next_attempt_at, diagnostics, recovered_at, recovery_run_id } = row;
  return {
    id: row.id,
    kind: row.kind,
    ref: row.ref,
    state: row.state,
    failedAt: toInstant(row.failed_at),
    attempt: row.attempt,
    ...(next_attempt_at === null ? {} : { nextAttemptAt: toInstant(next_attempt_at) }),
    summary: row.summary,
    ...(diagnostics !== null && role === "workspace_admin" ? { diagnostics } : {}),
    ...(recovered_at === null ? {} : { recoveredAt: toInstant(recovered_at) }),
    ...(recovery_run_id === null ? {} : { recoveryRunId: recovery_run_id }),
  };
}
