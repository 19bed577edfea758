import type { DerivedAgent, EvalCase } from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Rows } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Runs } from "../runs/index.ts";
import { demands } from "./evaluate.ts";
import type { SuiteSource, SuiteStatus } from "./schema.ts";
import { cachedSuiteRow, type NewSuite, newEvalRunRow, newestRanVerdict, newSuiteRow } from "./store.ts";
import { createSuiteFiles, type SuiteFiles, type SuiteFilesDeps, type SuiteRequest } from "./suite-files.ts";

export interface PrepareDeps extends SuiteFilesDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  runs: Runs;
}

/** A suite that exists once its rows are committed; whoever does that calls `committed` afterwards. */
export interface PreparedSuite {
  id: string;
  commitSha: string;
  rows: Rows;
  committed(): void;
  /** Queued, or at once what the suite has come to whose results stand in. */
  status: SuiteStatus;
}

/** Makes suites. Both ways say whether an earlier suite's results may stand in: see `reuse`. */
export function createPrepare(deps: PrepareDeps) {
  const { db, ids, clock, runs } = deps;
  const files = createSuiteFiles(deps);

  /**
   * A suite whose runs use the connections of `user`. Throws as `SuiteFiles` does, and 422 when something has
   * to be run and the user lacks a connection.
   */
  async function prepare(
    user: { workspaceId: string; login: string },
    request: SuiteRequest & { source: SuiteSource; cache: boolean },
  ): Promise<PreparedSuite> {
    const found = await files.find(user.workspaceId, request);
    const suite = newSuite({ ...user, ...request }, found);
    const reused = request.cache ? await reuse(suite, found) : undefined;
    if (reused) return reused;
    await runs.requireConnections(user, found.connections);
    return toRun(suite, found);
  }

  /**
   * A suite for a pull request, of an agent whose spec and eval file are valid at that commit. Its runs use the
   * connections of `login`, of nobody when that is null; a run that lacks one fails by itself.
   */
  async function prepareAt(
    user: { workspaceId: string; login: string | null },
    agent: DerivedAgent,
    { commitSha, cache }: { commitSha: string; cache: boolean },
  ): Promise<PreparedSuite> {
    const found = await files.at(agent, commitSha);
    const suite = newSuite({ ...user, agent: agent.name, source: "pull_request" }, found);
    const reused = cache ? await reuse(suite, found) : undefined;
    return reused ?? toRun(suite, found);
  }

  function newSuite(
    from: { workspaceId: string; login: string | null; agent: string; source: SuiteSource },
    { version, evalSha }: SuiteFiles,
  ): NewSuite {
    return {
      id: ids("eval"),
      workspace_id: from.workspaceId,
      agent: from.agent,
      version: version.version,
      commit_sha: version.commitSha,
      spec_sha: version.specSha,
      eval_sha: evalSha,
      source: from.source,
      run_as: from.login ?? "",
      created_at: clock(),
    };
  }

  /**
   * The suite with the results of the newest one that was run with exactly these two texts, when that has
   * passed. A failed one is never reused: it may have been the model's bad day, so that a repetition has to be
   * a repetition. Nor does an older success stand in behind a failure, which would wipe it out unseen. With handoffs
   * the two texts are not all that an answer depends on, and nothing stands in.
   */
  async function reuse(suite: NewSuite, { handsOff }: SuiteFiles): Promise<PreparedSuite | undefined> {
    if (handsOff) return undefined;
    const texts = { agent: suite.agent, specSha: suite.spec_sha, evalSha: suite.eval_sha };
    const ran = await newestRanVerdict(db.read, suite.workspace_id, texts);
    if (ran?.status !== "passed") return undefined;
    const { id, commit_sha: commitSha } = suite;
    return { id, commitSha, rows: [cachedSuiteRow(suite, ran)], committed() {}, status: ran.status };
  }

  function toRun(suite: NewSuite, { version, cases }: SuiteFiles): PreparedSuite {
    const orders = cases.flatMap((evalCase, index) => ordersOf(suite, version, evalCase, index));
    return {
      id: suite.id,
      commitSha: suite.commit_sha,
      rows: [newSuiteRow(suite, cases), ...orders.flatMap(({ rows }) => rows)],
      committed: () => orders[0]?.committed(),
      status: "queued",
    };
  }

  function ordersOf(suite: NewSuite, version: SuiteFiles["version"], evalCase: EvalCase, caseIndex: number) {
    return Array.from({ length: demands(evalCase).repeats }, (_, repetition) => {
      const run = runs.order({
        workspaceId: suite.workspace_id,
        agent: suite.agent,
        version,
        trigger: "eval",
        runAs: suite.run_as === "" ? null : suite.run_as,
        evalId: suite.id,
        message: evalCase.input,
      });
      const place = { suite_id: suite.id, case_index: caseIndex, repetition };
      return { ...run, rows: [...run.rows, newEvalRunRow({ run_id: run.id, ...place })] };
    });
  }

  return { prepare, prepareAt };
}
