import type { FrameworkRunner } from "../frameworks/index.ts";
import type { Tx } from "../platform/db/index.ts";
import { notFound } from "../platform/errors.ts";
import { toPage } from "../platform/http/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import { type Budgets, createRunSignals, untilEnded } from "../runs/index.ts";
import type { Settings } from "../settings/index.ts";
import { createCaseJob } from "./case-job.ts";
import { createCheckPool } from "./check-pool.ts";
import { createClosing } from "./close.ts";
import { createJudge } from "./judge.ts";
import { createPaidJudge } from "./paid-judge.ts";
import type { StatusPosts, SuiteEnded } from "./ports.ts";
import { createPrepare, type PrepareDeps, type PreparedSuite } from "./prepare.ts";
import {
  presentState,
  presentSuite,
  presentVerdict,
  type SuiteState,
  shownRun,
  summariseSuite,
  type Verdict,
} from "./present.ts";
import type { EvalSuite, ListEvals } from "./schema.ts";
import {
  type EvalRunRow,
  evalRunsOf,
  findSuite,
  findSuites,
  insertSuite,
  isFinalSuite,
  listSuites,
  newestVerdict,
  ranSuiteOf,
  type SuiteRow,
  type SuiteTexts,
} from "./store.ts";
import { createSupersede } from "./supersede.ts";
import { createSweep } from "./sweep.ts";

export interface EvalsDeps extends PrepareDeps {
  logger: Logger;
  queue: JobQueue;
  settings: Pick<Settings, "modelKeys" | "evals">;
  budgets: Pick<Budgets, "guardCalls" | "charge">;
  suiteEnded: SuiteEnded;
  statusPosts: StatusPosts;
  loadFramework(id: string): Promise<FrameworkRunner>;
}

export type Evals = ReturnType<typeof createEvals>;

/** Eval suites: making, evaluating, ending and reading them. */
export function createEvals(deps: EvalsDeps) {
  const { db, runs, suiteEnded } = deps;
  const signals = createRunSignals();
  const checks = createCheckPool();
  const closing = createClosing({ ...deps, signals });
  const sweeper = createSweep({ ...deps, closing });
  const job = createCaseJob({
    ...deps,
    closing,
    checks,
    judge: createPaidJudge({ ...deps, askJudge: createJudge(deps) }),
  });

  /** Stores a suite that has its results as it is made, and tells `suiteEnded` of it. */
  async function storeEnded(tx: Tx, workspaceId: string, { rows, commitSha }: PreparedSuite): Promise<void> {
    await insertSuite(tx, rows);
    await suiteEnded(tx, { workspaceId, commitSha });
  }

  async function find(workspaceId: string, id: string): Promise<SuiteRow> {
    const suite = await findSuite(db.read, workspaceId, id);
    if (!suite) throw notFound(`No eval suite has the id ${id}.`);
    return suite;
  }

  async function present(suite: SuiteRow): Promise<EvalSuite> {
    const rows = await evalRunsOf(db.read, [ranSuiteOf(suite)]);
    const byCase = [...Map.groupBy(rows, (row) => row.case_index).values()];
    const shown = byCase.flatMap((each) => shownRun(each)?.run_id ?? []);
    const [states, outputs, posts] = await Promise.all([
      openRunsOf([suite], rows),
      runs.find(shown),
      postsOf([suite]),
    ]);
    return presentSuite(suite, rows, new Map([...states, ...outputs]), posts.get(suite.id));
  }

  /** What has become of the runs of suites that go on; those of others are known from their results. */
  function openRunsOf(suites: readonly SuiteRow[], rows: readonly EvalRunRow[]) {
    const open = new Set(suites.filter((suite) => !isFinalSuite(suite)).map(({ id }) => id));
    return runs.states(rows.filter((row) => open.has(row.suite_id)).map((row) => row.run_id));
  }

  const postsOf = (suites: readonly SuiteRow[]) =>
    deps.statusPosts(
      suites.map((suite) => ({
        id: suite.id,
        workspaceId: suite.workspace_id,
        agent: suite.agent,
        commitSha: suite.commit_sha,
        specSha: suite.spec_sha,
        evalSha: suite.eval_sha,
      })),
    );

  async function list(workspaceId: string, filter: ListEvals) {
    const found = await listSuites(db.read, workspaceId, filter);
    const { page, nextBefore } = toPage(found, filter.limit);
    const rows = await evalRunsOf(db.read, [...new Set(page.map(ranSuiteOf))]);
    const [states, posts] = await Promise.all([openRunsOf(page, rows), postsOf(page)]);
    const bySuite = Map.groupBy(rows, (row) => row.suite_id);
    const evals = page.map((suite) =>
      summariseSuite(presentSuite(suite, bySuite.get(ranSuiteOf(suite)) ?? [], states, posts.get(suite.id))),
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

  /**
   * How the newest suite of exactly these two texts answered that passed or failed, cached ones included, in
   * the order in which they are asked for; undefined where there is none.
   */
  async function verdicts(
    workspaceId: string,
    asked: readonly SuiteTexts[],
  ): Promise<(Verdict | undefined)[]> {
    const suites = await Promise.all(asked.map((texts) => newestVerdict(db.read, workspaceId, texts)));
    const rows = await evalRunsOf(db.read, [
      ...new Set(suites.flatMap((suite) => (suite ? ranSuiteOf(suite) : []))),
    ]);
    const bySuite = Map.groupBy(rows, (row) => row.suite_id);
    return suites.map((suite) => suite && presentVerdict(suite, bySuite.get(ranSuiteOf(suite)) ?? []));
  }

  /** What has become of suites, by their ids, without those that the workspace does not have. */
  async function states(workspaceId: string, ids: readonly string[]): Promise<Map<string, SuiteState>> {
    const found = [...(await findSuites(db.read, ids)).values()];
    const suites = found.filter((suite) => suite.workspace_id === workspaceId);
    const open = suites.filter((suite) => !isFinalSuite(suite)).map(({ id }) => id);
    const rows = await evalRunsOf(db.read, open);
    const bySuite = Map.groupBy(rows, (row) => row.suite_id);
    return new Map(
      suites.map((suite) => [suite.id, presentState(suite, bySuite.get(suite.id) ?? [], new Map())]),
    );
  }

  return {
    ...createPrepare(deps),
    storeEnded,
    supersede: createSupersede({ closing, runs }),
    list,
    waitFor,
    verdicts,
    states,
    /** The outcome of the newest suite made from exactly these two texts; suites with status error do not count. */
    async newestVerdict(workspaceId: string, agent: string, specSha: string, evalSha: string) {
      const suite = await newestVerdict(db.read, workspaceId, { agent, specSha, evalSha });
      return suite && { status: suite.status, evalId: suite.id };
    },
    job,
    sweep: sweeper.sweep,
    /** What a worker does beside its jobs. Returns how to stop it. */
    start: sweeper.start,
    /** Ends the threads of checks. */
    close: checks.close,
  };
}
