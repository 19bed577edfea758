import { setTimeout as sleep } from "node:timers/promises";
import { type Express, Router } from "express";
import { agentChangeEndpoints, createAgentChanges, createAuthor } from "./agent-changes/index.ts";
import {
  agentEndpoints,
  agentJsonSchema,
  createBesideReader,
  createCommitComparison,
  createCommitReader,
  evalJsonSchema,
} from "./agents/index.ts";
import { automationEndpoints, createAutomations, forgetOldFires } from "./automations/index.ts";
import { createChatApps, forgetOldChats } from "./chat-apps/index.ts";
import { createCommitStatuses } from "./commit-status/index.ts";
import { createCore } from "./composition/core.ts";
import { ownedKinds } from "./composition/owned-kinds.ts";
import { connectionEndpoints, forgetOldDocuments } from "./connections/index.ts";
import { consoleRoutes } from "./console/index.ts";
import { deliveryEndpoints, forgetOldDeliveries } from "./deliveries/index.ts";
import { createDispatches, dispatchEndpoints } from "./dispatches/index.ts";
import { createEvals, evalEndpoints } from "./evals/index.ts";
import type { Foundation } from "./foundation.ts";
import { frameworkSpecs, loadFramework } from "./frameworks/index.ts";
import { createGitHubApp } from "./github/index.ts";
import { systemClock } from "./platform/clock.ts";
import { createHttpApp, createRateLimit, type Endpoint } from "./platform/http/index.ts";
import { jobEndpoints } from "./platform/job-endpoints.ts";
import { createJobQueue, createWorker, type WorkerOptions } from "./platform/jobs/index.ts";
import { createMetrics } from "./platform/metrics.ts";
import { regularly } from "./platform/regularly.ts";
import { createWakeUps } from "./platform/scheduler/index.ts";
import { startUpkeep } from "./platform/upkeep.ts";
import { createPromotion, promotionEndpoints } from "./promotion/index.ts";
import {
  createIsHead,
  createPullRequests,
  createStatusPosts,
  createSuiteEnded,
} from "./pull-requests/index.ts";
import type { PullRequestHost, RepositoryReader, RepositoryWriter } from "./repositories/index.ts";
import { budgetEndpoints, forgetOldSpending, runEndpoints } from "./runs/index.ts";
import { type createSettings, settingsEndpoints } from "./settings/index.ts";
import { createTriggers } from "./triggers/index.ts";
import { createWebhooks } from "./webhooks/index.ts";
import { workspaceEndpoints } from "./workspaces/index.ts";

export interface AppOptions {
  reader: RepositoryReader;
  /** Where agent changes go. */
  writer: RepositoryWriter;
  /** Where the repository's pull requests are made; undefined for a local one. */
  host: PullRequestHost | undefined;
  /** Sealing keys, newest first. */
  secretKeys: readonly string[];
  /** Base address of the OpenAPI document; undefined: wherever the document was read from. */
  publicUrl: string | undefined;
  /** Checks every answer against its declared shape. */
  checkResponses: boolean;
  /** Periods of the worker, and how its waits are spread; the usual ones unless given. */
  worker?: Pick<WorkerOptions, "pollMs" | "leaseMs" | "renewMs" | "sweepMs" | "abandonMs" | "random">;
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
  const { reader, writer, host, publicUrl, checkResponses } = options;
  const { config, db, logger, redactor, ids, access, workspaceId } = foundation;
  const clock = systemClock;
  const stopping = new AbortController();
  const metrics = createMetrics(db);
  const queue = createJobQueue(db, ids, clock);
  const worker = createWorker({ ...options.worker, db, queue, ids, logger, events: metrics.worker });

  const core = createCore(foundation, { ...options, queue, runEnded: metrics.runEnded });
  const { sealer, settings, integrations, documents, connections, agents, catalog, budgets } = core;
  const { runDeps, runs, executor, integrationHookUrl } = core;
  worker.define(executor.job);
  const commitStatuses = createCommitStatuses({
    ...{ db, ids, clock, logger, queue, host, settings },
    isHead: createIsHead({ db, host }),
    link: (sha) => (publicUrl === undefined ? undefined : `${publicUrl}/commits/${sha}`),
  });
  worker.define(commitStatuses.job);
  const readAgentAt = createCommitReader({ reader, schemas: frameworkSpecs });
  const evals = createEvals({
    ...runDeps,
    runs,
    settings,
    suiteEnded: createSuiteEnded({ queue }),
    statusPosts: createStatusPosts({ db, posts: commitStatuses.posts }),
    loadFramework,
    readAgentAt,
    readBesideAt: createBesideReader({ reader, schemas: frameworkSpecs }),
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
  const baseUrl = publicUrl ?? `http://${config.host}:${config.port}`;
  const dispatches = createDispatches({ db, ids, clock, redactor });
  const wakeUps = createWakeUps({ db, logger, clock, mongoUrl: config.mongoUrl });
  const automations = createAutomations({
    ...runDeps,
    runs,
    dispatches,
    members: access.members,
    wakeUps,
  });
  catalog.onFresh(() => {
    void automations
      .repositoryBack(workspaceId)
      .catch((error) => logger.warn({ err: error }, "schedules that wait for the repository wait on"));
  });
  const webhooks = createWebhooks({
    ...runDeps,
    runs,
    sealer,
    dispatches,
    members: access.members,
    rateLimit: createRateLimit(db, clock, "webhook", config.webhookRateLimit),
    baseUrl,
  });

  const triggers = createTriggers({
    ...runDeps,
    runs,
    settings,
    integrations,
    cache: documents,
    dispatches,
    members: access.members,
    hookUrl: integrationHookUrl,
    baseUrl,
  });
  worker.define(triggers.jobs.dispatch);
  worker.define(triggers.jobs.subscription);

  const chatApps = createChatApps({
    ...runDeps,
    runs,
    sealer,
    members: access.members,
    systemAuditRow: access.systemAuditRow,
    slackUrl: config.slackUrl,
    baseUrl: publicUrl ?? "",
  });
  worker.define(chatApps.jobs.event);
  worker.define(chatApps.jobs.thread);
  worker.define(chatApps.jobs.wake);
  worker.define(chatApps.jobs.revoke);

  const agentChanges = createAgentChanges({
    ...runDeps,
    settings,
    reader,
    writer,
    readAgentAt,
    publicUrl,
    author: createAuthor({ loadFramework }),
    checkSchedule: (schedule, timezone) => void automations.preview(schedule, timezone),
    suites: evals,
    members: access.members,
  });
  worker.define(agentChanges.job);

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
    ...budgetEndpoints(budgets),
    ...evalEndpoints(evals),
    ...pullRequests.endpoints,
    ...connectionEndpoints(connections),
    ...workspaceEndpoints({ db, describeRepository }),
    ...access.endpoints(ownedKinds({ clock, queue, dispatches })),
    ...settingsEndpoints(settings),
    ...automationEndpoints(automations),
    ...webhooks.endpoints,
    ...triggers.endpoints,
    ...chatApps.endpoints,
    ...agentChangeEndpoints(agentChanges),
    ...dispatchEndpoints(dispatches),
    ...deliveryEndpoints({
      db,
      replayers: {
        github: github.replayer,
        webhook: webhooks.replayer,
        integration: triggers.replayer,
        chat: chatApps.replayer,
      },
    }),
    ...jobEndpoints(queue),
  ];
  const rateLimit = createRateLimit(db, clock, "api", config.apiRateLimit);
  const { authenticate, auditRow } = access;
  const http = createHttpApp({
    logger,
    ids,
    endpoints,
    hooks: [webhooks.hook, triggers.hook, chatApps.hook, ...github.hooks],
    console: Router().use(chatApps.pages, consoleRoutes()),
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
  let stopAutomations = async () => {};
  async function start(): Promise<void> {
    for (const warning of await db.warnings()) logger.warn(warning);
    if (config.roles.has("scheduler")) {
      await catalog.start();
      stops.push(
        startUpkeep(db, clock, logger, [
          forgetOldDeliveries,
          forgetOldDocuments,
          forgetOldFires,
          forgetOldSpending,
          forgetOldChats,
        ]),
      );
      stopAutomations = automations.start();
      await wakeUps.start(() => void automations.wake());
    }
    if (config.roles.has("worker")) {
      worker.start();
      stops.push(
        regularly(cancelPollMs, executor.abortCancelled, () => {}),
        evals.start(),
        commitStatuses.start(),
        pullRequests.start(),
      );
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
        settings.modelKeys(workspaceId),
      ]);
      return { agents: counted, catalogError: error, modelKeys: keys };
    },
    beginStop: () => stopping.abort(),
    async stop(graceMs, requestsEnded) {
      for (const stop of stops) stop();
      // A repository's host may take longer to answer than a process has for stopping.
      const synced = Promise.race([catalog.stop(), sleep(graceMs, undefined, { ref: false })]);
      await Promise.all([synced, worker.stop(graceMs), requestsEnded]);
      await stopAutomations();
      await wakeUps.stop();
      await evals.close();
      await documents.close();
      await webhooks.stop();
      await triggers.stop();
      await access.stop();
      await reader.close();
      await db.close();
    },
  };
}
