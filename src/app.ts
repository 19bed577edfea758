import { setTimeout as sleep } from "node:timers/promises";
import type { Express } from "express";
import {
  agentEndpoints,
  agentJsonSchema,
  createAgents,
  createCatalogSync,
  createCommitComparison,
  createCommitReader,
  evalJsonSchema,
} from "./agents/index.ts";
import { createCommitStatuses } from "./commit-status/index.ts";
import { connectionEndpoints, createBuiltinTools, createConnections } from "./connections/index.ts";
import { consoleRoutes } from "./console/index.ts";
import { createEvals, evalEndpoints, followEvalRuns } from "./evals/index.ts";
import type { Foundation } from "./foundation.ts";
import { frameworkSpecs, loadFramework } from "./frameworks/index.ts";
import { createGitHubApp, forgetOldDeliveries } from "./github/index.ts";
import { systemClock } from "./platform/clock.ts";
import { createHttpApp, createRateLimit, type Endpoint } from "./platform/http/index.ts";
import { jobEndpoints } from "./platform/job-endpoints.ts";
import { createJobQueue, createWorker, type WorkerOptions } from "./platform/jobs/index.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createSealer } from "./platform/secrets.ts";
import { startUpkeep } from "./platform/upkeep.ts";
import { createPromotion, promotionEndpoints } from "./promotion/index.ts";
import {
  createIsHead,
  createPullRequests,
  createStatusPosts,
  createSuiteEnded,
} from "./pull-requests/index.ts";
import type { PullRequestHost, RepositoryReader } from "./repositories/index.ts";
import { createExecutor, createRunSignals, createRuns, runEndpoints } from "./runs/index.ts";
import { createSettings, settingsEndpoints } from "./settings/index.ts";
import { workspaceEndpoints } from "./workspaces/index.ts";

export interface AppOptions {
  reader: RepositoryReader;
  /** Where the repository's pull requests are made; undefined for a local one. */
  host: PullRequestHost | undefined;
  /** Sealing keys, newest first. */
  secretKeys: readonly string[];
  /** Base address of the OpenAPI document; undefined: wherever the document was read from. */
  publicUrl: string | undefined;
  /** Checks every answer against its declared shape. */
  checkResponses: boolean;
  /** Periods of the worker; the usual ones unless given. */
  worker?: Pick<WorkerOptions, "leaseMs" | "renewMs" | "sweepMs" | "abandonMs">;
}

/** The assembled service. */
export interface App {
  http: Express;
  endpoints: readonly Endpoint[];
  /** For the start's report: the catalog as it is, and the keys that runs would use. */
  report(): Promise<StartReport>;
  /** Starts what this process's roles ask for. Settles when the catalog was read for the first time. */
  start(): Promise<void>;
  /** Called before the HTTP server is closed: streams and long polls end, readiness turns false. */
  beginStop(): void;
  /**
   * Hands back claimed work within `graceMs`, then closes the database, not before the requests that are
   * under way have ended.
   */
  stop(graceMs: number, requestsEnded?: Promise<void>): Promise<void>;
}

export interface StartReport {
  agents: { valid: number; invalid: number };
  /** Why the repository cannot be read, when it cannot. */
  catalogError: string | undefined;
  modelKeys: Awaited<ReturnType<ReturnType<typeof createSettings>["modelKeys"]>>;
}

/** How often a worker looks for runs that another process was asked to cancel, milliseconds. */
const cancelPollMs = 1_000;

/** Puts the features together, each from its named dependencies. Nothing runs before `start`. */
export function createApp(foundation: Foundation, options: AppOptions): App {
  const { reader, host, secretKeys, publicUrl, checkResponses } = options;
  const { config, db, logger, redactor, ids, access, workspaceId } = foundation;
  const clock = systemClock;
  const stopping = new AbortController();
  const metrics = createMetrics(db);
  const queue = createJobQueue(db, ids, clock);
  const worker = createWorker({ ...options.worker, db, queue, ids, logger, events: metrics.worker });

  const sealer = createSealer(secretKeys);
  const settings = createSettings({ db, clock, sealer, redactor, logger, environment: config.modelKeys });
  const readFile = (_workspace: string, commitSha: string, path: string, maxBytes: number) =>
    reader.file(commitSha, path, maxBytes);
  const connections = createConnections([createBuiltinTools({ clock, readFile })]);
  const knownSlugs = async (user: { workspaceId: string; login: string }) =>
    new Set((await connections.tools(user)).map((tool) => tool.slug));
  const agents = createAgents({ db, schemas: frameworkSpecs, knownSlugs });
  const catalog = createCatalogSync({ db, clock, logger, reader, schemas: frameworkSpecs, workspaceId });

  const signals = createRunSignals();
  const { modelKeys } = settings;
  const { concurrency } = config;
  const runDeps = {
    db,
    ids,
    clock,
    logger,
    redactor,
    queue,
    agents,
    connections,
    signals,
    followUps: followEvalRuns,
  };
  const executor = createExecutor({
    ...runDeps,
    modelKeys,
    loadFramework,
    concurrency,
    ended: metrics.runEnded,
  });
  const runs = createRuns({ ...runDeps, abort: executor.abort });
  worker.define(executor.job);
  const commitStatuses = createCommitStatuses({
    ...{ db, ids, clock, logger, queue, host, settings },
    isHead: createIsHead({ db, host }),
    link: (sha) => (publicUrl === undefined ? undefined : `${publicUrl}/commits/${sha}`),
  });
  worker.define(commitStatuses.job);
  const evals = createEvals({
    ...runDeps,
    runs,
    settings,
    suiteEnded: createSuiteEnded({ queue }),
    statusPosts: createStatusPosts({ db, posts: commitStatuses.posts }),
    loadFramework,
    readAgentAt: createCommitReader({ reader, schemas: frameworkSpecs }),
  });
  worker.define(evals.job);

  const promotion = createPromotion({ db, clock, agents, newestVerdict: evals.newestVerdict });

  const pullRequests = createPullRequests({
    ...{ db, ids, clock, logger, queue, host, settings, evals, commitStatuses, workspaceId },
    compareCommits: createCommitComparison({ reader, schemas: frameworkSpecs }),
    members: access.members,
  });
  worker.define(pullRequests.jobs.plan);
  worker.define(pullRequests.jobs.settle);

  const github = createGitHubApp({
    db,
    ids,
    clock,
    logger,
    queue,
    workspaceId,
    reader,
    catalog,
    branch: config.repository?.branch,
    consider: pullRequests.consider,
    secret: config.webhookSecret,
  });
  worker.define(github.job);

  async function describeRepository(id: string) {
    const { problems: _, repository, ...state } = await agents.catalog(id);
    return { repository: repository ?? reader.label, branch: reader.branch() ?? null, ...state };
  }
  const endpoints: Endpoint[] = [
    ...agentEndpoints(agents),
    ...promotionEndpoints(promotion),
    ...runEndpoints(runs),
    ...evalEndpoints(evals),
    ...pullRequests.endpoints,
    ...connectionEndpoints(connections),
    ...workspaceEndpoints({ db, describeRepository }),
    ...access.endpoints,
    ...settingsEndpoints(settings),
    ...github.endpoints,
    ...jobEndpoints(queue),
  ];
  const rateLimit = createRateLimit(db, clock, "api", config.apiRateLimit);
  const { authenticate, auditRow } = access;
  const http = createHttpApp({
    logger,
    ids,
    endpoints,
    hooks: github.hooks,
    console: consoleRoutes(),
    publicUrl: publicUrl ?? "/",
    schemas: { "agent.json": agentJsonSchema(frameworkSpecs), "eval.json": evalJsonSchema() },
    mount: { db, clock, rateLimit, authenticate, auditRow, stopping: stopping.signal, checkResponses },
    health: {
      db,
      metrics,
      stopping: stopping.signal,
      catalogRead: async () => (await agents.catalog(workspaceId)).syncedAt !== null,
    },
    servesApi: config.roles.has("web"),
  });

  const stops: (() => void)[] = [];
  async function start(): Promise<void> {
    for (const warning of await db.warnings()) logger.warn(warning);
    if (config.roles.has("scheduler")) {
      await catalog.start();
      stops.push(startUpkeep(db, clock, logger, [forgetOldDeliveries]));
    }
    if (config.roles.has("worker")) {
      worker.start();
      const timer = setInterval(() => void executor.abortCancelled().catch(() => {}), cancelPollMs);
      stops.push(() => clearInterval(timer), evals.start(), commitStatuses.start(), pullRequests.start());
    }
  }

  return {
    http,
    endpoints,
    start,
    async report() {
      const [counted, { error }, keys] = await Promise.all([
        agents.count(workspaceId),
        agents.catalog(workspaceId),
        modelKeys(workspaceId),
      ]);
      return { agents: counted, catalogError: error, modelKeys: keys };
    },
    beginStop: () => stopping.abort(),
    async stop(graceMs, requestsEnded) {
      for (const stop of stops) stop();
      // A repository's host may take longer to answer than a process has for stopping.
      const synced = Promise.race([catalog.stop(), sleep(graceMs, undefined, { ref: false })]);
      await Promise.all([synced, worker.stop(graceMs), requestsEnded]);
      await evals.close();
      await access.stop();
      await reader.close();
      await db.close();
    },
  };
}
