import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type AgentSpec, type FrameworkRunner, RunFailure, type RunTool } from "../frameworks/index.ts";
import { costUsd } from "../models/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Database, isAway, step, type Tx } from "../platform/db/index.ts";
import { errorText } from "../platform/errors.ts";
import { type Job, type JobKind, type JobQueue, LeaseLost } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import { addUsd } from "./budget.ts";
import type { Budgets } from "./budgets.ts";
import { createMeans, type MeansDeps } from "./means.ts";
import { noticeOf } from "./notice.ts";
import type { FollowUps } from "./ports.ts";
import type { RunSignals } from "./run-signals.ts";
import { isFinal, runJob } from "./service.ts";
import {
  beginRuns,
  cancelRequested,
  countToolCall,
  endIdleRuns,
  endRuns,
  finalEvent,
  findRuns,
  keepEvents,
  type RunAttempt,
  type RunEnd,
  type RunRow,
  type RunSpending,
  releaseRun,
} from "./store.ts";
import { createTrace, type Trace } from "./trace.ts";

export interface ExecutorDeps extends MeansDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  redactor: Redactor;
  queue: JobQueue;
  signals: RunSignals;
  followUps: FollowUps;
  budgets: Budgets;
  loadFramework(id: string): Promise<FrameworkRunner>;
  /** Runs at the same time in this process. */
  concurrency: number;
  /** Told of each run that ends. */
  ended(status: RunEnd["status"], failureCode: string | null): void;
}

const RunPayload = z.object({ runId: z.string() });

/** A first execution and two more: what happens when workers keep dying under a run. */
const maxAttempts = 3;

/** Between two tries to store what a run has come to while the database is away. */
const storeAgainMs = 500;

/** Why a run's signal was aborted, where that decides how the run ends. */
class Stopped extends Error {
  readonly code: "cancelled" | "timeout";

  constructor(code: "cancelled" | "timeout") {
    super(code);
    this.code = code;
  }
}

/** One run that this process executes. */
interface Execution {
  run: RunRow;
  job: Job<z.infer<typeof RunPayload>>;
  trace: Trace;
  controller: AbortController;
  spending: RunSpending;
  /** Dollars of it that are stored already. */
  storedUsd: number;
  /** Nothing of it can have been stored. */
  fresh: boolean;
}

/** A run whose end is to be stored. */
interface Ended extends Pick<Execution, "run" | "spending" | "fresh"> {
  attempt: number;
  end: RunEnd;
}

export interface Executor {
  job: JobKind<typeof RunPayload>;
  /** Stops a run that this process executes; does nothing for others. */
  abort(runId: string): void;
  /** Stops those runs of this process whose end somebody asked another process for. */
  abortCancelled(): Promise<void>;
}

export function createExecutor(deps: ExecutorDeps): Executor {
  const { db, clock, signals } = deps;
  const means = createMeans(deps);
  const active = new Map<string, Execution>();
  const loadRun = createBatchLoader((ids: readonly string[]) => findRuns(db.read, ids));
  /** Runs that are claimed together begin together: one statement for all of them. */
  const mark = createBatchLoader(async (starting: readonly RunAttempt[]) => {
    const begun = await db.commit({ run: (tx) => beginRuns(tx, starting, clock()) });
    return new Map(starting.map((each) => [each, begun.has(each.id)]));
  });
  async function handle(job: Execution["job"]): Promise<void> {
    const seen = await loadRun(job.payload.runId);
    if (!seen || isFinal(seen)) return;
    const trace = createTrace({
      ...deps,
      runId: seen.id,
      attempt: job.attempt,
      stored: () => signals.notify(seen.id),
    });
    trace.add({ type: "run.started" });
    const run = await begin(seen, job, trace);
    if (!run) return;
    const execution: Execution = {
      run,
      job,
      trace,
      controller: new AbortController(),
      spending: spendingOf(run),
      storedUsd: run.cost_usd ?? 0,
      fresh: run.tool_calls === 0,
    };
    active.set(run.id, execution);
    const forward = () => execution.controller.abort(job.signal.reason);
    job.signal.addEventListener("abort", forward, { once: true });
    try {
      await finish(execution, await outcomeOf(execution));
    } catch (error) {
      // Nobody executes it until its job is claimed again.
      await db.transaction((tx) => releaseRun(tx, run.id, job.attempt)).catch(() => {});
      throw error;
    } finally {
      job.signal.removeEventListener("abort", forward);
      if (active.get(run.id) === execution) active.delete(run.id);
    }
  }

  /** The run as this attempt finds it, undefined when it has ended meanwhile. */
  async function begin(run: RunRow, job: Execution["job"], trace: Trace): Promise<RunRow | undefined> {
    // The first event waits for the others: most runs are over before anybody can look.
    const begun = await mark({ id: run.id, attempt: job.attempt });
    if (begun && job.attempt === 1) return run;
    // Until the attempt before was fenced off, it could still call tools.
    const now = await loadRun(run.id);
    if (begun && now) return now;
    trace.take();
    if (!now || isFinal(now)) return undefined;
    throw new LeaseLost(`Run ${run.id} is executed by a newer attempt.`);
  }

  /** Executes the run and says how it ended. Throws only when its result must not count. */
  async function outcomeOf(execution: Execution): Promise<RunEnd> {
    const { run, controller } = execution;
    let timer: NodeJS.Timeout | undefined;
    try {
      if (run.cancel_requested_at !== null) throw new Stopped("cancelled");
      if (run.tool_calls > 0)
        throw new RunFailure(
          "worker_lost",
          `The worker that was lost had made ${run.tool_calls} tool calls.`,
        );
      const spec = await deps.agents.spec(run.spec_sha);
      timer = setTimeout(
        () => controller.abort(new Stopped("timeout")),
        spec.parameters.timeoutSeconds * 1000,
      );
      const output = await runAgent(execution, spec);
      return { status: "succeeded", output, failureCode: null, errorDetails: null, finishedAt: clock() };
    } catch (error) {
      return failureOf(execution, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async function runAgent(execution: Execution, spec: AgentSpec): Promise<string> {
    const { run, controller, trace } = execution;
    // Asked for at the same moment, both are answered by one query.
    const [model, limits] = await Promise.all([
      means.modelOf(run, spec.model),
      deps.budgets.limits(run.workspace_id),
    ]);
    execution.spending = { model: model.ref, tokens: { input: 0, output: 0, cached: 0 }, costUsd: 0 };
    const guard = deps.budgets.guard(run, spec.budget, limits, ({ state, ...budget }) =>
      trace.add({ type: `budget.${state}`, ...budget }),
    );
    await guard.start();
    const meter = metered(execution);
    const tools = await means.toolsOf(run, spec, run.commit_sha, meter);
    const runFramework = await deps.loadFramework(run.framework);
    controller.signal.throwIfAborted();
    const { output } = await runFramework({
      spec,
      message: run.message,
      notice: noticeOf(run.trigger),
      model,
      tools,
      reach: means.reachOf(run, meter),
      signal: controller.signal,
      emit: (event) => trace.add(event),
      async spend(usage, called) {
        const { spending } = execution;
        spending.tokens.input += usage.input;
        spending.tokens.output += usage.output;
        spending.tokens.cached += usage.cached;
        const cost = costUsd(called, usage);
        spending.costUsd = cost === null || spending.costUsd === null ? null : addUsd(spending.costUsd, cost);
        await guard.spent(spending.costUsd ?? 0, execution.storedUsd);
      },
    });
    controller.signal.throwIfAborted();
    return output;
  }

  /** Has each call of the tool counted before it is made. */
  const metered = (execution: Execution) => (tool: RunTool) => ({
    ...tool,
    execute: (args: unknown, signal: AbortSignal) => callTool(execution, tool, args, signal),
  });

  /** Counted before it is made, under the fence: after a crash nobody makes the call a second time. */
  async function callTool(execution: Execution, tool: RunTool, args: unknown, signal: AbortSignal) {
    const { run, job, trace, controller } = execution;
    const spending = { ...execution.spending, tokens: { ...execution.spending.tokens } };
    execution.fresh = false;
    const rows = trace.take();
    const count = (tx: Tx) =>
      deps.budgets.keep(tx, [{ run, spending, at: clock(), ended: false, fresh: false }], () =>
        countToolCall(tx, run.id, job.attempt, spending),
      );
    // An earlier try whose commit was in doubt may have stored the events.
    const countAgain = (tx: Tx) => keepEvents(tx, rows).then(() => count(tx));
    const allowed = await whileAway(controller.signal, (again) =>
      db.commit(again ? { run: countAgain } : { run: count, rows }),
    );
    if (!allowed) {
      const [cancelled] = await cancelRequested(db.read, [run.id]);
      const lost = `Run ${run.id} may make no more tool calls under attempt ${job.attempt}.`;
      controller.abort(cancelled ? new Stopped("cancelled") : new LeaseLost(lost));
    }
    controller.signal.throwIfAborted();
    execution.storedUsd = spending.costUsd ?? 0;
    return tool.execute(args, signal);
  }

  function failureOf({ run, job, controller }: Execution, error: unknown): RunEnd {
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    const base = { output: null, finishedAt: clock() };
    if (reason instanceof Stopped) {
      const status = reason.code === "cancelled" ? "cancelled" : "failed";
      return { ...base, status, failureCode: reason.code, errorDetails: null };
    }
    if (job.signal.aborted || reason instanceof LeaseLost) throw reason;
    // Nothing is wrong with the run: its job is tried again.
    if (isAway(error)) throw error;
    if (error instanceof RunFailure) {
      return {
        ...base,
        status: "failed",
        failureCode: error.code,
        errorDetails: deps.redactor.scrub(error.details),
      };
    }
    deps.logger.error({ err: error, runId: run.id }, "a run failed inside Rollcall");
    return {
      ...base,
      status: "failed",
      failureCode: "internal",
      errorDetails: deps.redactor.scrub(errorText(error)),
    };
  }

  /** Runs that end at the same moment are stored together. */
  function storeEnds(tx: Tx, ended: readonly Ended[]): Promise<boolean> {
    const kept = ended.map(({ end, ...rest }) => ({ ...rest, at: end.finishedAt, ended: true }));
    const endings = ended.map(({ run, ...rest }) => ({ ...rest, id: run.id }));
    return deps.budgets.keep(tx, kept, () => endRuns(tx, endings));
  }

  async function finish({ run, job, trace, spending, fresh }: Execution, end: RunEnd): Promise<void> {
    trace.add({
      type: "run.finished",
      status: end.status,
      ...(end.failureCode ? { failureCode: end.failureCode } : {}),
    });
    const followUps = deps.followUps(run);
    const rows = [...trace.take(), ...followUps.map(deps.queue.row)];
    await trace.settled();
    const ended = { run, attempt: job.attempt, end, spending, fresh };
    const takenOver = () => new LeaseLost(`Run ${run.id} was taken over.`);
    const steps = [step(storeEnds, ended, takenOver), job.completion()];
    const committed = () => {
      signals.notify(run.id);
      for (const { kind } of followUps) deps.queue.wake(kind);
    };
    await whileAway(job.signal, () => db.commit({ steps, rows, committed }));
    deps.ended(end.status, end.failureCode);
  }

  /** The last worker is lost, too: nobody executes the run any more. */
  async function giveUp(tx: Tx, runId: string, error: string): Promise<void> {
    const end: RunEnd = {
      status: "failed",
      output: null,
      failureCode: "worker_lost",
      errorDetails: deps.redactor.scrub(error),
      finishedAt: clock(),
    };
    if ((await endIdleRuns(tx, [runId], end)) === 0) return;
    const run = (await findRuns(tx, [runId])).get(runId);
    if (!run) return;
    const { table, row } = finalEvent(run, end);
    await tx(table).insert(row);
    for (const job of deps.followUps(run)) await deps.queue.enqueue(tx, job);
    afterCommit(tx, () => {
      signals.notify(runId);
      deps.ended(end.status, end.failureCode);
    });
  }

  const abort = (runId: string) => active.get(runId)?.controller.abort(new Stopped("cancelled"));

  return {
    abort,
    async abortCancelled() {
      if (active.size === 0) return;
      for (const id of await cancelRequested(db.read, [...active.keys()])) abort(id);
    },
    job: {
      kind: runJob,
      payload: RunPayload,
      concurrency: deps.concurrency,
      maxAttempts,
      backoff: { base: 500, cap: 10_000 },
      handle,
      onDead: (tx, { runId }, error) => giveUp(tx, runId, error),
    },
  };
}

/**
 * Does `work` until the database is there for it: a lease outlives a short absence, and an answer of a model
 * that was paid for is not thrown away for one. Rejects with the signal's reason once that is aborted.
 */
async function whileAway<T>(signal: AbortSignal, work: (again: boolean) => Promise<T>): Promise<T> {
  for (let again = false; ; again = true) {
    try {
      return await work(again);
    } catch (error) {
      if (!isAway(error)) throw error;
      await sleep(storeAgainMs, undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }
}

/** What earlier attempts have used up, as far as it was stored. */
const spendingOf = (run: RunRow): RunSpending => ({
  model: run.model,
  tokens: { input: run.tokens_input, output: run.tokens_output, cached: run.tokens_cached },
  costUsd: run.cost_usd,
});
