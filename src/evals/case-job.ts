import { z } from "zod";
import type { EvalCase } from "../agents/index.ts";
import { describeFailure } from "../frameworks/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Database } from "../platform/db/index.ts";
import type { Job, JobKind, JobRequest } from "../platform/jobs/index.ts";
import type { Budgets, FollowUps, Payer, RunRow, Runs } from "../runs/index.ts";
import type { BoundedChecks } from "./assertions.ts";
import type { Closing } from "./close.ts";
import { type EndedRun, evaluateRun } from "./evaluate.ts";
import type { Opinion } from "./judge.ts";
import { casesOf, type EvalResult, findEvalRuns, findSuites, isFinalSuite, type SuiteRow } from "./store.ts";

export interface CaseJobDeps {
  db: Database;
  runs: Runs;
  closing: Closing;
  checks: BoundedChecks;
  /** The opinion of the workspace's judge on an output, and the dollars that it cost. */
  judge(
    payer: Payer,
    judged: { rubric: string; input: string; output: string },
    signal: AbortSignal,
  ): Promise<Opinion & { costUsd: number }>;
  budgets: Pick<Budgets, "charge">;
}

const CasePayload = z.object({ runId: z.string() });

/** Evaluations at the same time in one process; most of one that is judged is waiting. */
const concurrency = 50;

/** The job that evaluates a run of a case once it has ended. While it is kept there is no second one. */
export const caseJob = (runId: string): JobRequest => ({
  kind: "eval.case",
  payload: { runId },
  uniqueKey: `eval.case:${runId}`,
});

/** Queues the evaluation of every run that evals have started. */
export const followEvalRuns: FollowUps = ({ id, trigger }) => (trigger === "eval" ? [caseJob(id)] : []);

/** Evaluates runs of cases; the last one of a suite closes it. */
export function createCaseJob(deps: CaseJobDeps): JobKind<typeof CasePayload> {
  const { db, runs, closing } = deps;
  const loadEvalRun = createBatchLoader((ids: readonly string[]) => findEvalRuns(db.read, ids));
  const loadSuite = createBatchLoader((ids: readonly string[]) => findSuites(db.read, ids));
  const loadRun = createBatchLoader(runs.find);

  async function handle(job: Job<z.infer<typeof CasePayload>>): Promise<void> {
    const { runId } = job.payload;
    const evalRun = await loadEvalRun(runId);
    const suite = evalRun && (await loadSuite(evalRun.suite_id));
    if (!evalRun || !suite || isFinalSuite(suite)) return;
    const evaluated =
      evalRun.evaluated_at === null
        ? await resultOf(runId, suite, evalRun.case_index, job.signal)
        : undefined;
    // A judge that was interrupted has no opinion, and whoever gets the job next asks again.
    job.signal.throwIfAborted();
    await db.commit({
      async run(tx) {
        await closing.record(tx, suite.id, evaluated && { runId, result: evaluated.result });
        if (evaluated) await deps.budgets.charge(tx, payerOf(suite), evaluated.judgeUsd);
        await job.complete(tx);
      },
    });
  }

  async function resultOf(
    runId: string,
    suite: SuiteRow,
    caseIndex: number,
    signal: AbortSignal,
  ): Promise<{ result: EvalResult; judgeUsd: number }> {
    const evalCase = casesOf(suite)[caseIndex];
    const run = await loadRun(runId);
    if (!evalCase || !run) throw new Error(`Run ${runId} of suite ${suite.id} has no case or is gone.`);
    const ended = await endOf(run, evalCase);
    const { passed, assertions } = await evaluateRun(evalCase, ended, deps.checks);
    const opinion = await opinionOn(suite, evalCase, run, signal);
    const result = {
      passed,
      assertions,
      judgePassed: opinion?.passed ?? null,
      judgeReason: opinion?.reason ?? null,
      durationMs: durationOf(run),
      costUsd: run.cost_usd,
    };
    return { result, judgeUsd: opinion?.costUsd ?? 0 };
  }

  async function endOf(run: RunRow, { assert }: EvalCase): Promise<EndedRun> {
    if (run.status !== "succeeded")
      return { failure: describeFailure(run.failure_code ?? "internal").message };
    const asksForTools = assert?.tool_called !== undefined || assert?.tool_not_called !== undefined;
    return {
      failure: undefined,
      evidence: {
        output: run.output ?? "",
        toolCalls: asksForTools ? await runs.toolCalls(run.id) : [],
        costUsd: run.cost_usd,
        durationMs: durationOf(run) ?? 0,
      },
    };
  }

  async function opinionOn(suite: SuiteRow, { judge }: EvalCase, run: RunRow, signal: AbortSignal) {
    if (!judge || run.status !== "succeeded" || !run.output) return undefined;
    const judged = { rubric: judge.rubric, input: run.message, output: run.output };
    return deps.judge(payerOf(suite), judged, signal);
  }

  return {
    kind: "eval.case",
    payload: CasePayload,
    concurrency,
    maxAttempts: 5,
    backoff: { base: 500, cap: 10_000 },
    handle,
    async onDead(tx, { runId }) {
      const evalRun = (await findEvalRuns(tx, [runId])).get(runId);
      if (!evalRun) return;
      const detail = "The case could not be evaluated; ask a workspace admin to look at the dead jobs.";
      const nothing = { judgePassed: null, judgeReason: null, durationMs: null, costUsd: null };
      const result = {
        passed: false,
        assertions: [{ kind: "run" as const, passed: false, detail }],
        ...nothing,
      };
      await closing.record(tx, evalRun.suite_id, { runId, result });
    },
  };
}

const payerOf = ({ workspace_id, run_as }: SuiteRow): Payer => ({
  workspaceId: workspace_id,
  login: run_as,
});

function durationOf({ started_at, finished_at }: RunRow): number | null {
  return started_at === null || finished_at === null ? null : Math.max(0, finished_at - started_at);
}
