import { createAgents, createCatalogSync } from "../agents/index.ts";
import { followChatRuns } from "../chat-apps/index.ts";
import {
  createBuiltinTools,
  createConnections,
  createDocumentCache,
  createIntegrationTools,
  createMcpTools,
} from "../connections/index.ts";
import { followEvalRuns } from "../evals/index.ts";
import type { Foundation } from "../foundation.ts";
import { frameworkSpecs, loadFramework } from "../frameworks/index.ts";
import { createIntegrations } from "../integrations/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { createSealer } from "../platform/secrets.ts";
import type { RepositoryReader } from "../repositories/index.ts";
import {
  createBudgets,
  createExecutor,
  createRunSignals,
  createRuns,
  type ExecutorDeps,
  type FollowUps,
} from "../runs/index.ts";
import { createSettings } from "../settings/index.ts";
import { findWorkspace } from "../workspaces/index.ts";

export interface CoreOptions {
  reader: RepositoryReader;
  /** Sealing keys, newest first. */
  secretKeys: readonly string[];
  publicUrl: string | undefined;
  queue: JobQueue;
  runEnded: ExecutorDeps["ended"];
}

/** What everything else stands on: settings, tools, the catalog of agents, and their runs. Nothing runs before it is asked. */
export function createCore(foundation: Foundation, options: CoreOptions) {
  const { reader, secretKeys, publicUrl, queue, runEnded } = options;
  const { config, db, logger, redactor, ids, workspaceId } = foundation;
  const clock = systemClock;
  const sealer = createSealer(secretKeys);
  async function integrationHookUrl(id: string): Promise<string | null> {
    const workspace = publicUrl ? await findWorkspace(db.read, { id }) : undefined;
    return workspace ? `${publicUrl}/api/hooks/integration/${workspace.slug}` : null;
  }
  const settings = createSettings({
    db,
    clock,
    sealer,
    redactor,
    logger,
    environment: config.modelKeys,
    integrationHookUrl,
  });
  const integrations = createIntegrations({ clock, redactor, composioUrl: config.composioUrl });
  const documents = createDocumentCache({ db, clock, logger });
  const outside = { settings, cache: documents, clock, redactor };
  const readFile = (_workspace: string, commitSha: string, path: string, maxBytes: number) =>
    reader.file(commitSha, path, maxBytes);
  const sources = [
    createBuiltinTools({ clock, readFile }),
    ...Object.values(integrations).map((provider) => createIntegrationTools({ ...outside, provider })),
    createMcpTools(outside),
  ];
  const connections = createConnections(sources, publicUrl);
  const knownSlugs = async (user: { workspaceId: string; login: string }) =>
    new Set((await connections.tools(user)).map((tool) => tool.slug));
  const agents = createAgents({ db, schemas: frameworkSpecs, knownSlugs });
  const catalog = createCatalogSync({ db, clock, logger, reader, schemas: frameworkSpecs, workspaceId });

  const budgets = createBudgets({ db, clock, logger, agents, limits: settings.budgets });
  const signals = createRunSignals();
  const followUps: FollowUps = (run) => [...followEvalRuns(run), ...followChatRuns(run)];
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
    budgets,
    signals,
    followUps,
  };
  const executor = createExecutor({
    ...runDeps,
    modelKeys,
    loadFramework,
    concurrency,
    ended: runEnded,
  });
  const runs = createRuns({ ...runDeps, abort: executor.abort });
  return {
    sealer,
    settings,
    integrations,
    documents,
    connections,
    agents,
    catalog,
    budgets,
    runDeps,
    runs,
    executor,
    integrationHookUrl,
  };
}
