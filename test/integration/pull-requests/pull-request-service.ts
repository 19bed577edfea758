import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import {
  createAgents,
  createBesideReader,
  createCommitComparison,
  createCommitReader,
} from "../../../src/agents/index.ts";
import { createCommitStatuses } from "../../../src/commit-status/index.ts";
import { createConnections } from "../../../src/connections/index.ts";
import { createEvals, evalEndpoints, followEvalRuns } from "../../../src/evals/index.ts";
import { frameworkSpecs, loadFramework } from "../../../src/frameworks/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Database } from "../../../src/platform/db/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createSealer } from "../../../src/platform/secrets.ts";
import {
  createIsHead,
  createPullRequests,
  createStatusPosts,
  createSuiteEnded,
  type Subject,
} from "../../../src/pull-requests/index.ts";
import type { PullRequestHead } from "../../../src/pull-requests/schema.ts";
import { openRepository, type PullRequest } from "../../../src/repositories/index.ts";
import { createBudgets, createExecutor, createRunSignals, createRuns } from "../../../src/runs/index.ts";
import { createSettings, type Settings } from "../../../src/settings/index.ts";
import { type ApiAnswer, type CallOptions, startApi } from "../../support/api.ts";
import { createTestRepository, type TestFile } from "../../support/git-repository.ts";
import { createTestWorker } from "../../support/job-worker.ts";
import { setUpWorkspace, type TestWorkspace } from "../../support/workspace.ts";
import { createMemoryHost, type MemoryHost } from "../commit-status/commit-status-service.ts";

/** Where pull requests are made, as the test says. Its merge base is what the test says, too. */
export interface TestHost extends MemoryHost {
  pulls: Map<number, PullRequest>;
  branches: Map<string, string>;
  bases: Map<string, string>;
  /** Called with each question; a throw makes it fail, a wait lets others be faster. */
  onAsk(what: "pullRequest" | "mergeBase" | "branchHead"): Promise<void> | void;
}

export interface PullRequestService extends TestWorkspace {
  host: TestHost;
  /** Commits exactly these files. */
  commit(files: Readonly<Record<string, TestFile>>): Promise<string>;
  /** Opens a pull request of `ann`, who belongs to the repository, or changes one, and tells nobody. */
  propose(number: number, headSha: string, baseSha: string, changes?: Partial<PullRequest>): void;
  consider(subject: Subject | number): Promise<string | undefined>;
  /** The newest head, once it is in that state. */
  reached(number: number, state: PullRequestHead["state"]): Promise<PullRequestHead>;
  /** What was posted on a commit, once the newest of it has that state. */
  posted(sha: string, state: string): Promise<{ state: string; description: string }[]>;
  /** Runs are executed from now on; before, suites stay queued. */
  runEvals(): void;
  sweep(): Promise<void>;
  changeSettings(change: Parameters<Settings["change"]>[2]): Promise<unknown>;
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>;
  suites(): Promise<{ id: string; agent: string; status: string; error: string | null; run_as: string }[]>;
  /** Kinds of the jobs that are waiting or being done. */
  jobKinds(): Promise<string[]>;
  /** Lets jobs that wait for their next try be done now. */
  hurry(): Promise<void>;
}

const deadlineMs = 20_000;

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  while (performance.now() < deadline) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error(`Waited in vain for ${what}.`);
}

/** Pull requests over the real evals, runs and commit statuses, a local repository and a host in memory. */
export async function startPullRequests(
  db: Database,
  { workspace, clock = systemClock }: { workspace?: TestWorkspace; clock?: () => number } = {},
): Promise<PullRequestService> {
  const own = workspace ?? (await setUpWorkspace(db));
  const { workspaceId, access, adminKey, logger, redactor } = own;
  const ids = createIds();
  const { queue, worker } = createTestWorker(db, { pollMs: 20 });
  const repository = await createTestRepository();
  onTestFinished(repository.remove);
  const { reader } = openRepository({ kind: "local", path: repository.gitdir });
  const schemas = frameworkSpecs;
  const sealer = createSealer(["a sealing key for tests"]);
  const settings = createSettings({
    ...{ db, clock, sealer, redactor, logger, environment: {} },
    integrationHookUrl: async () => null,
  });
  const connections = createConnections([]);
  const agents = createAgents({ db, schemas, knownSlugs: async () => new Set() });
  const signals = createRunSignals();
  const shared = { db, ids, clock, logger, redactor, queue, agents, connections, signals, workspaceId };
  const budgets = createBudgets({ ...shared, limits: settings.budgets });
  const runDeps = { ...shared, budgets, followUps: followEvalRuns };
  const executor = createExecutor({
    ...runDeps,
    modelKeys: settings.modelKeys,
    loadFramework,
    concurrency: 10,
    ended() {},
  });
  const runs = createRuns({ ...runDeps, abort: executor.abort });

  const host = createTestHost();
  const commitStatuses = createCommitStatuses({
    ...shared,
    settings,
    host,
    isHead: createIsHead({ db, host }),
    link: (sha) => `https://rollcall.example/commits/${sha}`,
  });
  const evals = createEvals({
    ...shared,
    runs,
    settings,
    budgets,
    loadFramework,
    readAgentAt: createCommitReader({ reader, schemas }),
    readBesideAt: createBesideReader({ reader, schemas }),
    suiteEnded: createSuiteEnded({ queue }),
    statusPosts: createStatusPosts({ db, posts: commitStatuses.posts }),
  });
  onTestFinished(() => evals.close());
  const pullRequests = createPullRequests({
    ...shared,
    host,
    settings,
    evals,
    commitStatuses,
    compareCommits: createCommitComparison({ reader, schemas }),
    members: access.members,
  });
  worker.define(pullRequests.jobs.plan);
  worker.define(pullRequests.jobs.settle);
  worker.define(commitStatuses.job);
  worker.start();

  const { authenticate, auditRow } = access;
  const endpoints = [...pullRequests.endpoints, ...evalEndpoints(evals)];
  const api = await startApi(endpoints, { db, authenticate, auditRow });
  onTestFinished(api.stop);
  const call: PullRequestService["call"] = (method, path, options) =>
    api.call(method, path, { key: adminKey, ...options });

  return {
    ...own,
    host,
    call,
    commit: (files) => repository.commit(files),
    propose(number, headSha, baseSha, changes = {}) {
      const facts = {
        open: true,
        merged: false,
        draft: false,
        author: "ann",
        authorBelongs: true,
        fork: false,
      };
      host.pulls.set(number, { number, headSha, baseRef: "main", baseSha, ...facts, ...changes });
    },
    consider: async (subject) =>
      pullRequests.consider?.(
        typeof subject === "number" ? { kind: "pull_request", number: subject } : subject,
      ),
    reached: (number, state) =>
      until(`${number} to be ${state}`, async () => {
        const { body } = await call("GET", `/pull-requests/${number}`);
        return body.pullRequest?.state === state ? body.pullRequest : undefined;
      }),
    posted: (sha, state) =>
      until(`${state} on ${sha}`, async () => {
        const all = host.statuses.filter((status) => status.sha === sha);
        return all.at(-1)?.state === state ? all : undefined;
      }),
    runEvals() {
      const runner = createTestWorker(db, { pollMs: 20 });
      runner.worker.define(executor.job);
      runner.worker.define(evals.job);
      runner.worker.start();
    },
    sweep: pullRequests.sweep,
    changeSettings: (change) => db.transaction((tx) => settings.change(tx, workspaceId, change)),
    suites: async () => db.read("eval_suites").orderBy("id"),
    jobKinds: async () => db.read("jobs").pluck("kind"),
    hurry: async () =>
      void (await db.transaction((tx) => tx("jobs").where({ state: "queued" }).update({ run_at: 0 }))),
  };
}

function createTestHost(): TestHost {
  const host: TestHost = Object.assign(createMemoryHost(), {
    pulls: new Map<number, PullRequest>(),
    branches: new Map<string, string>(),
    bases: new Map<string, string>(),
    onAsk() {},
    async pullRequest(number: number) {
      const facts = host.pulls.get(number);
      await host.onAsk("pullRequest");
      return facts;
    },
    async mergeBase(baseSha: string, headSha: string) {
      await host.onAsk("mergeBase");
      return host.bases.get(headSha) ?? baseSha;
    },
    async branchHead(branch: string) {
      await host.onAsk("branchHead");
      return host.branches.get(branch);
    },
  });
  return host;
}
