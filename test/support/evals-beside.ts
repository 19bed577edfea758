import { deriveAgents } from "../../src/agents/derive-agents.ts";
import { createAgents, type DerivedAgent } from "../../src/agents/index.ts";
import { createBuiltinTools, createConnections } from "../../src/connections/index.ts";
import {
  createEvals,
  type Evals,
  evalEndpoints,
  followEvalRuns,
  type PreparedSuite,
  type StatusPosts,
} from "../../src/evals/index.ts";
import { frameworkSpecs, loadFramework } from "../../src/frameworks/index.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { step } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue } from "../../src/platform/jobs/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";
import { createBudgets, createRunSignals, createRuns } from "../../src/runs/index.ts";
import { startApi } from "./api.ts";
import type { TestApp } from "./app.ts";

/** Evals of a second process on a service's database, with ports of the test's own. */
export interface EvalsBeside {
  evals: Evals;
  /** What `suiteEnded` was told in transactions that were committed, in no particular order. */
  ended(): Promise<{ workspaceId: string; commitSha: string }[]>;
  /** Commits a prepared suite and answers its id. */
  commit(suite: PreparedSuite): Promise<string>;
  /** Does the evaluation of a run once, as a worker does that then completes its job by `complete`. */
  evaluate(runId: string, complete?: () => Promise<void>): Promise<void>;
  /** Serves the endpoints of these evals. The caller stops it. */
  serve(): ReturnType<typeof startApi>;
}

const endedKind = "test.suite_ended";

const unused = () => {
  throw new Error("These evals need none of this.");
};

export function evalsBeside(
  { db, access }: Pick<TestApp, "db" | "access">,
  {
    clock = systemClock,
    statusPosts = async () => new Map(),
  }: { clock?: Clock; statusPosts?: StatusPosts } = {},
): EvalsBeside {
  const ids = createIds();
  const redactor = createRedactor();
  const logger = createLogger("silent", redactor);
  const queue = createJobQueue(db, ids, Date.now);
  const connections = createConnections([createBuiltinTools({ clock, readFile: unused })]);
  const agents = createAgents({ db, schemas: frameworkSpecs, knownSlugs: async () => new Set() });
  const shared = { db, ids, clock, logger, redactor, queue, agents, connections };
  const budgets = createBudgets({ ...shared, limits: async () => unused() });
  const runs = createRuns({
    ...shared,
    budgets,
    signals: createRunSignals(),
    followUps: followEvalRuns,
    abort: () => {},
  });
  const evals = createEvals({
    ...shared,
    runs,
    settings: { modelKeys: unused, evals: unused },
    budgets,
    loadFramework,
    readAgentAt: unused,
    readBesideAt: async () => [],
    statusPosts,
    // A job takes part in the transaction, as what listens in the service does.
    suiteEnded: (tx, suite) => queue.enqueue(tx, { kind: endedKind, payload: suite }),
  });
  return {
    evals,
    async ended() {
      const payloads: string[] = await db.read("jobs").where({ kind: endedKind }).pluck("payload");
      return payloads.map((payload) => JSON.parse(payload));
    },
    async commit({ id, rows, committed }) {
      await db.commit({ rows, committed });
      return id;
    },
    evaluate: (runId, complete = async () => {}) =>
      evals.job.handle({
        id: "job_test",
        payload: { runId },
        attempt: 1,
        signal: new AbortController().signal,
        complete,
        completion: () => step(() => complete().then(() => true), undefined, unused),
        hold: async () => {},
      }),
    serve: () => startApi(evalEndpoints(evals), { db, ...access }),
  };
}

/** The agent of that name as a commit with these files has it. */
export function agentIn(files: Readonly<Record<string, string>>, name: string): DerivedAgent {
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    blobSha: path,
    content: { bytes: new TextEncoder().encode(text) },
  }));
  const agent = deriveAgents(entries, frameworkSpecs).agents.find((each) => each.name === name);
  if (!agent) throw new Error(`The files have no agent ${name}.`);
  return agent;
}
