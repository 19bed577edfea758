import type { FrameworkRunner } from "../frameworks/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Rows } from "../platform/db/index.ts";
import { notFound } from "../platform/errors.ts";
import { toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { createRunSignals, type Runs, untilEnded } from "../runs/index.ts";
import type { Settings } from "../settings/index.ts";
import { createCaseJob } from "./case-job.ts";
import { createCheckPool } from "./check-pool.ts";
import { demands } from "./evaluate.ts";
import { createJudge } from "./judge.ts";
import { presentSuite, shownRun, summariseSuite } from "./present.ts";
import type { EvalSuite, ListEvals, SuiteSource } from "./schema.ts";
import {
  type EvalRunRow,
  evalRunsOf,
  findSuite,
  isFinalSuite,
  listSuites,
  newEvalRunRow,
  newestVerdict,
  newSuiteRow,
  type SuiteRow,
} from "./store.ts";
import { createSuiteFiles, type SuiteFilesDeps, type SuiteRequest } from "./suite-files.ts";
import { createSweep } from "./sweep.ts";

export interface EvalsDeps extends SuiteFilesDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  logger: Logger;
  queue: JobQueue;
  runs: Runs;
  settings: Pick<Settings, "modelKeys" | "evals">;
  loadFramework(id: string): Promise<FrameworkRunner>;
}

export type Evals = ReturnType<typeof createEvals>;

/** Eval suites: making, evaluating and reading them. */
export function createEvals(deps: EvalsDeps) {
  const { db, ids, clock, runs, settings } = deps;
  const files = createSuiteFiles(deps);
  const signals = createRunSignals();
  const checks = createCheckPool();
  const askJudge = createJudge(deps);
  const job = createCaseJob({
    ...deps,
    signals,
    checks,
    async judge(workspaceId, judged, signal) {
      const [{ judgeModel }, keys] = await Promise.all([
        settings.evals(workspaceId),
        settings.modelKeys(workspaceId),
      ]);
      return askJudge(judged, judgeModel, keys, signal);
    },
  });
  const sweeper = createSweep({ ...deps, signals });

  /**
   * The rows of a new suite and of its runs, which use the connections of `user`. Whoever commits them calls
   * `committed` afterwards. Throws as `SuiteFiles` does, and 422 when the user lacks a connection.
   */
  async function prepare(
    user: { workspaceId: string; login: string },
    request: SuiteRequest & { source: SuiteSource },
  ): Promise<{ id: string; rows: Rows; committed(): void }> {
    const { workspaceId, login } = user;
    const { version, cases, evalSha } = await files.find(workspaceId, request);
    await runs.requireConnections(user, version.connections);
    const id = ids("eval");
    const suite = newSuiteRow(
      {
        id,
        workspace_id: workspaceId,
        agent: request.agent,
        version: version.version,
        commit_sha: version.commitSha,
        spec_sha: version.specSha,
        eval_sha: evalSha,
        source: request.source,
        run_as: login,
        created_at: clock(),
      },
      cases,
    );
    const orders = cases.flatMap((evalCase, caseIndex) =>
      Array.from({ length: demands(evalCase).repeats }, (_, repetition) => {
        const { agent } = request;
        const order = { workspaceId, agent, version, trigger: "eval", runAs: login } as const;
        const run = runs.order({ ...order, evalId: id, message: evalCase.input });
        const place = { suite_id: id, case_index: caseIndex, repetition };
        return { ...run, rows: [...run.rows, newEvalRunRow({ run_id: run.id, ...place })] };
      }),
    );
    return {
      id,
      rows: [suite, ...orders.flatMap(({ rows }) => rows)],
      committed: () => orders[0]?.committed(),
    };
  }

  async function find(workspaceId: string, id: string): Promise<SuiteRow> {
    const suite = await findSuite(db.read, workspaceId, id);
    if (!suite) throw notFound(`No eval suite has the id ${id}.`);
    return suite;
  }

  async function present(suite: SuiteRow): Promise<EvalSuite> {
    const rows = await evalRunsOf(db.read, [suite.id]);
    const byCase = [...Map.groupBy(rows, (row) => row.case_index).values()];
    const shown = byCase.flatMap((each) => shownRun(each)?.run_id ?? []);
    const [states, outputs] = await Promise.all([statesOf([suite], rows), runs.find(shown)]);
    return presentSuite(suite, rows, new Map([...states, ...outputs]));
  }

  /** What has become of the runs of suites that go on; those of others are known from their results. */
  function statesOf(suites: readonly SuiteRow[], rows: readonly EvalRunRow[]) {
    const open = new Set(suites.filter((suite) => !isFinalSuite(suite)).map(({ id }) => id));
    return runs.states(rows.filter((row) => open.has(row.suite_id)).map((row) => row.run_id));
  }

  async function list(workspaceId: string, filter: ListEvals) {
    const found = await listSuites(db.read, workspaceId, filter);
    const { page, nextBefore } = toPage(found, filter.limit);
    const rows = await evalRunsOf(
      db.read,
      page.map(({ id }) => id),
    );
    const states = await statesOf(page, rows);
    const bySuite = Map.groupBy(rows, (row) => row.suite_id);
    const evals = page.map((suite) =>
      summariseSuite(presentSuite(suite, bySuite.get(suite.id) ?? [], states)),
    );
    return { evals, nextBefore };
  }

  /** The suite once it has ended, or as it is after that many seconds. */
  async function waitFor(
    workspaceId: string,
    id: string,
    seconds: number,
    signal: AbortSignal,
  ): Promise<EvalSuite> {
    const read = () => find(workspaceId, id);
    return present(await untilEnded({ signals, id, seconds, signal, read, hasEnded: isFinalSuite }));
  }

  return {
    prepare,
    list,
    waitFor,
    /** The outcome of the newest suite made from exactly these two texts; suites with status error do not count. */
    async newestVerdict(workspaceId: string, agent: string, specSha: string, evalSha: string) {
      const suite = await newestVerdict(db.read, workspaceId, agent, { specSha, evalSha });
      if (suite?.status !== "passed" && suite?.status !== "failed") return undefined;
      return { status: suite.status, evalId: suite.id };
    },
    job,
    sweep: sweeper.sweep,
    /** What a worker does beside its jobs. Returns how to stop it. */
    start: sweeper.start,
    /** Ends the threads of checks. */
    close: checks.close,
  };
}
