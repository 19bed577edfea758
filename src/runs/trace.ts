import type { TraceEvent } from "../frameworks/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Rows } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Budget } from "./budget.ts";
import { eventRow } from "./store.ts";

type RunTraceEvent =
  | TraceEvent
  | { type: "run.started" }
  | ({ type: "budget.warning" | "budget.exceeded" } & Budget)
  | { type: "run.finished"; status: string; failureCode?: string };

/** The events of one attempt of a run on their way to the database. */
export interface Trace {
  add(event: RunTraceEvent): void;
  /** What is not stored yet, for a commit of the caller's. */
  take(): Rows;
  /** Settles when everything handed to the database before is stored or given up. */
  settled(): Promise<void>;
}

/** Data of one event at the most; a tool's result may be a whole file. */
const maxData = 64 * 1024;

/** Events that are not taken by the run's end within this time are stored by themselves, for those who watch. */
const flushMs = 100;

export interface TraceOptions {
  db: Database;
  clock: Clock;
  logger: Logger;
  redactor: Redactor;
  runId: string;
  attempt: number;
  /** Called when events are stored. */
  stored(): void;
}

export function createTrace({ db, clock, logger, redactor, runId, attempt, stored }: TraceOptions): Trace {
  let seq = 0;
  let pending: Rows[number][] = [];
  let timer: NodeJS.Timeout | undefined;
  let storing: Promise<void> = Promise.resolve();

  function take(): Rows {
    clearTimeout(timer);
    timer = undefined;
    const rows = pending;
    pending = [];
    return rows;
  }

  function flush(): void {
    const rows = take();
    storing = storing
      .then(() => db.commit<void>({ rows, committed: stored }))
      .catch((error) => logger.warn({ err: error, runId }, "events of a run could not be stored"));
  }

  return {
    take,
    settled: () => storing,
    add({ type, ...data }) {
      seq++;
      pending.push(
        eventRow({
          run_id: runId,
          attempt,
          seq,
          type,
          data: bounded(redactor.scrub(JSON.stringify(data))),
          at: clock(),
        }),
      );
      timer ??= setTimeout(flush, flushMs);
    },
  };
}

function bounded(json: string): string {
  return json.length <= maxData ? json : JSON.stringify({ truncated: true, text: json.slice(0, maxData) });
}
