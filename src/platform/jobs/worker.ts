import type { z } from "zod";
import { type Database, isDatabaseAway, step } from "../db/index.ts";
import { AppError, errorText } from "../errors.ts";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import { backoffMs } from "./backoff.ts";
import { type JobKind, LeaseLost, RetryLater } from "./job-kind.ts";
import type { JobQueue } from "./queue.ts";
import { createRecovery } from "./recovery.ts";
import {
  claimJobs,
  dueJobs,
  dueKinds,
  holdJob,
  type JobRow,
  removeJobs,
  renewLeases,
  requeueJob,
  undoClaim,
} from "./store.ts";

export interface WorkerEvents {
  claimed(kind: string, count: number): void;
  finished(kind: string, outcome: "done" | "retried" | "dead" | "lost", durationMs: number): void;
}

export interface Worker {
  define<S extends z.ZodType>(kind: JobKind<S>): void;
  start(): void;
  /**
   * Claims nothing more, waits up to `graceMs` for what runs, aborts the rest and puts back what was not
   * finished, two seconds later even what a handler that heeds no signal is still busy with.
   */
  stop(graceMs: number): Promise<void>;
}

export interface WorkerOptions {
  db: Database;
  queue: JobQueue;
  ids: Ids;
  logger: Logger;
  events: WorkerEvents;
  /** Looking for jobs that other processes added, or that have become due. */
  pollMs?: number;
  /** How long a claim holds without being renewed, on the database's clock. */
  leaseMs?: number;
  renewMs?: number;
  sweepMs?: number;
  /** Without a successful renewal for this long (monotonic clock) a worker stops what it does. */
  abandonMs?: number;
  /** Spreads the waits between tries: a number from 0 to below 1 for each. */
  random?: () => number;
}

interface Held {
  row: JobRow;
  definition: JobKind;
  controller: AbortController;
  renewedAt: number;
  settled: Promise<void>;
}

/** What is known of the newest claim of a kind. */
interface Rest {
  claimedAt: number;
  /** It filled at least half of the kind's slots. */
  large: boolean;
  /** Jobs were added by this process since. */
  woken: boolean;
}

const claimLimit = 100;

const maxRestMs = 200;

/** What handlers have for ending after their signal is aborted, before a process stops without them. */
const abortMs = 2_000;

export function createWorker(options: WorkerOptions): Worker {
  const { db, queue, ids, logger, events } = options;
  const leaseMs = options.leaseMs ?? 30_000;
  const abandonMs = options.abandonMs ?? 20_000;
  const kinds = new Map<string, JobKind>();
  const held = new Map<string, Held>();
  const runningOf = new Map<string, number>();
  const claiming = new Set<string>();
  const askedAgain = new Set<string>();
  const rests = new Map<string, Rest>();
  /** The newest claim of each kind as long as nobody knows whether it was committed. */
  const doubted = new Map<string, { token: string; ids: readonly string[] }>();
  /** Claims and periodic tasks that are being done. */
  const underway = new Set<Promise<unknown>>();
  const timers: NodeJS.Timeout[] = [];
  let contended = false;
  let stopping = false;

  const free = (kind: JobKind) => kind.concurrency - (runningOf.get(kind.kind) ?? 0);

  const { bury, handBack, sweep } = createRecovery({ db, logger, kinds, look });

  function look(kind: JobKind): void {
    if (stopping || free(kind) <= 0) return;
    if (claiming.has(kind.kind)) {
      askedAgain.add(kind.kind);
      return;
    }
    claiming.add(kind.kind);
    const claimed = rest(kind)
      .then(() => claim(kind))
      .catch((error) => {
        const level = isDatabaseAway(error) || error instanceof AppError ? "warn" : "error";
        logger[level]({ err: error, kind: kind.kind }, "jobs could not be claimed");
        return false;
      })
      .then((more) => {
        claiming.delete(kind.kind);
        if (askedAgain.delete(kind.kind) || more) setImmediate(look, kind);
      });
    track(claimed);
  }

  function track(work: Promise<unknown>): void {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  }

  /**
   * While new jobs keep coming in, a large batch is followed by a rest three times as long as it took: those
   * who add jobs wait for their answers, and the jobs wait for nobody.
   */
  async function rest({ kind }: JobKind): Promise<void> {
    const last = rests.get(kind);
    if (!last?.large || !last.woken) return;
    last.large = false;
    const tookMs = performance.now() - last.claimedAt;
    await new Promise((resolve) => setTimeout(resolve, Math.min(maxRestMs, tookMs * 3)));
  }

  /** True when there may be more due than was taken. */
  async function claim(kind: JobKind): Promise<boolean> {
    await undoDoubted(kind.kind);
    const wanted = Math.min(free(kind), claimLimit);
    const candidates = pick(await dueJobs(db, kind.kind, contended ? wanted * 4 : wanted), wanted);
    if (candidates.length === 0 || stopping) return false;
    const token = ids("clm");
    // Leases begin on the database after this moment: what counts from here ends before they do.
    const claimedAt = performance.now();
    doubted.set(kind.kind, { token, ids: candidates.map(({ id }) => id) });
    const jobs = await db.commit({ run: (tx) => claimJobs(db, tx, candidates, token, leaseMs) });
    doubted.delete(kind.kind);
    if (stopping) {
      await handBack(jobs);
      return false;
    }
    contended = jobs.length < candidates.length;
    rests.set(kind.kind, { claimedAt, large: jobs.length * 2 >= kind.concurrency, woken: false });
    events.claimed(kind.kind, jobs.length);
    for (const job of jobs) take(kind, job, claimedAt);
    return free(kind) > 0;
  }

  /** A claim that failed may have been committed: without this its jobs would wait until their leases end. */
  async function undoDoubted(kind: string): Promise<void> {
    const claim = doubted.get(kind);
    if (!claim) return;
    await db.transaction((tx) => undoClaim(tx, claim.token, claim.ids));
    doubted.delete(kind);
  }

  /** After losing a race, a random part of the candidates: rivals that all take the head only meet again. */
  function pick(candidates: readonly JobRow[], count: number): readonly JobRow[] {
    const from = contended ? Math.floor(Math.random() * Math.max(1, candidates.length - count)) : 0;
    return candidates.slice(from, from + count);
  }

  function take(definition: JobKind, row: JobRow, claimedAt: number): void {
    held.get(row.id)?.controller.abort(new LeaseLost("The job was lost and came back."));
    runningOf.set(row.kind, (runningOf.get(row.kind) ?? 0) + 1);
    const entry: Held = {
      row,
      definition,
      controller: new AbortController(),
      renewedAt: claimedAt,
      settled: Promise.resolve(),
    };
    held.set(row.id, entry);
    entry.settled = execute(entry).finally(() => {
      // A job that was lost may have come back to this very process under a newer attempt.
      if (held.get(row.id) === entry) held.delete(row.id);
      runningOf.set(row.kind, (runningOf.get(row.kind) ?? 1) - 1);
      look(definition);
    });
  }

  async function execute(entry: Held): Promise<void> {
    const { row } = entry;
    const startedAt = performance.now();
    let outcome: "done" | "retried" | "dead" | "lost" = "done";
    try {
      await runHandler(entry);
    } catch (error) {
      outcome = await afterFailure(entry, error).catch((failure) => {
        logger.warn(
          { err: failure, job: row.id, kind: row.kind },
          "a failed job could not be put back; its lease will run out",
        );
        return "lost" as const;
      });
    }
    events.finished(row.kind, outcome, performance.now() - startedAt);
  }

  async function runHandler({ row, definition, controller }: Held): Promise<void> {
    let completed = false;
    const lost = () => new LeaseLost(`Job ${row.id} is no longer held under attempt ${row.attempt}.`);
    const fence = (kept: boolean) => {
      if (!kept) throw lost();
    };
    await definition.handle({
      id: row.id,
      payload: definition.payload.parse(JSON.parse(row.payload)),
      attempt: row.attempt,
      signal: controller.signal,
      async complete(tx) {
        fence(await removeJobs(tx, [row]));
        completed = true;
      },
      completion() {
        completed = true;
        return step(removeJobs, row, lost);
      },
      hold: async (tx) => fence(await holdJob(tx, row)),
    });
    if (!completed) await db.commit({ steps: [step(removeJobs, row, lost)] });
  }

  async function afterFailure(
    { row, definition, controller }: Held,
    error: unknown,
  ): Promise<"retried" | "dead" | "lost"> {
    if (error instanceof LeaseLost) return "lost";
    const text = errorText(error);
    const log = logger.child({ job: row.id, kind: row.kind, attempt: row.attempt });
    if (stopping && controller.signal.aborted) {
      return (await db.transaction((tx) => requeueJob(db, tx, row, 0, null))) ? "retried" : "lost";
    }
    if (row.attempt >= definition.maxAttempts) {
      log.error({ err: error }, "job is dead after its last try");
      return (await bury(row, definition, text)) ? "dead" : "lost";
    }
    log.warn({ err: error }, "job failed and will be tried again");
    const wait = Math.max(
      backoffMs(definition.backoff, row.attempt, options.random),
      error instanceof RetryLater ? error.delayMs : 0,
    );
    return (await db.transaction((tx) => requeueJob(db, tx, row, wait, text))) ? "retried" : "lost";
  }

  async function renew(): Promise<void> {
    const entries = [...held.values()];
    if (entries.length === 0) return;
    const now = performance.now();
    const kept = await renewLeases(
      db,
      entries.map((entry) => entry.row),
      leaseMs,
    );
    for (const entry of entries) {
      if (kept.has(entry.row.id)) entry.renewedAt = now;
      // A job that ended while the renewal was under way is gone from the table too.
      else if (held.get(entry.row.id) === entry)
        entry.controller.abort(new LeaseLost("The job's lease was lost."));
    }
  }

  function abandonUnrenewed(): void {
    const limit = performance.now() - abandonMs;
    for (const entry of held.values()) {
      if (entry.renewedAt < limit)
        entry.controller.abort(new LeaseLost("The job's lease could not be renewed."));
    }
  }

  function every(ms: number, what: string, work: () => Promise<void> | void): void {
    let busy = false;
    const turn = async () => {
      try {
        await work();
      } catch (error) {
        logger.warn({ err: error, task: what }, "a periodic task failed");
      }
      busy = false;
    };
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      track(turn());
    }, ms);
    timers.push(timer);
  }

  /** Resolves when nothing is being done any more, or after so many milliseconds. */
  async function idle(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<"over">((resolve) => {
      timer = setTimeout(resolve, withinMs, "over");
    });
    while (held.size > 0 || underway.size > 0) {
      const all = Promise.all([...underway, ...[...held.values()].map((entry) => entry.settled)]);
      if ((await Promise.race([all, over])) === "over") break;
    }
    clearTimeout(timer);
  }

  return {
    define(kind) {
      if (kinds.has(kind.kind)) throw new Error(`Job kind ${kind.kind} is defined twice.`);
      kinds.set(kind.kind, kind as unknown as JobKind);
    },
    start() {
      const lookAtAll = async () => {
        const able = [...kinds.values()].filter((kind) => free(kind) > 0);
        const names = able.map(({ kind }) => kind);
        const due = new Set(await dueKinds(db, names));
        // Jobs of a claim in doubt are due to nobody until it is undone.
        for (const kind of able) if (due.has(kind.kind) || doubted.has(kind.kind)) look(kind);
      };
      queue.onWake((name) => {
        const kind = kinds.get(name);
        const last = rests.get(name);
        if (last) last.woken = true;
        if (kind) look(kind);
      });
      every((options.pollMs ?? 500) * (0.9 + Math.random() * 0.2), "looking for jobs", lookAtAll);
      every(options.renewMs ?? 10_000, "renewing leases", renew);
      every(Math.min(1_000, abandonMs / 4), "watching leases", abandonUnrenewed);
      every(options.sweepMs ?? 10_000, "looking for lost jobs", sweep);
      for (const kind of kinds.values()) look(kind);
    },
    async stop(graceMs) {
      stopping = true;
      await idle(graceMs);
      for (const entry of held.values()) entry.controller.abort(new Error("The process is stopping."));
      await idle(abortMs);
      const left = [...held.values()].map((entry) => entry.row);
      await handBack(left).catch((error) => {
        logger.warn(
          { err: error, jobs: left.map((row) => row.id) },
          "jobs could not be put back; their leases will run out",
        );
      });
      for (const each of timers) clearInterval(each);
    },
  };
}
