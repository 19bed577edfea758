import type { Access } from "../../src/access/index.ts";
import { createAgents } from "../../src/agents/index.ts";
import { automationOwnership, createAutomations } from "../../src/automations/index.ts";
import { type Connections, createConnections } from "../../src/connections/index.ts";
import { createDispatches } from "../../src/dispatches/index.ts";
import { frameworkSpecs } from "../../src/frameworks/index.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue } from "../../src/platform/jobs/index.ts";
import type { Logger } from "../../src/platform/logger.ts";
import type { Redactor } from "../../src/platform/redact.ts";
import { createBudgets, createRunSignals, createRuns } from "../../src/runs/index.ts";

export interface Assembly {
  clock: Clock;
  logger: Logger;
  redactor: Redactor;
  access: Access;
  /** What members lack; every slug unless given. */
  missing?: Connections["missing"] | undefined;
  /** Told of the instants that a wake-up is asked for at. */
  ensure(instants: readonly number[]): void;
}

const noBudgets = {
  usdPerRun: null,
  usdPerAgentDay: null,
  usdPerMemberDay: null,
  usdPerWorkspaceMonth: null,
  warnAt: 0.8,
};

/** Automations and what they stand on, as one process has them; nothing of it runs by itself. */
export function assembleAutomations(
  db: Database,
  { clock, logger, redactor, access, missing, ensure }: Assembly,
) {
  const ids = createIds();
  const queue = createJobQueue(db, ids, clock);
  const none = createConnections([]);
  const connections = { ...none, missing: missing ?? none.missing };
  const agents = createAgents({ db, schemas: frameworkSpecs, knownSlugs: async () => new Set<string>() });
  const shared = { db, ids, clock, logger, redactor, queue, agents, connections };
  const signals = createRunSignals();
  const budgets = createBudgets({ ...shared, limits: async () => noBudgets });
  const runs = createRuns({ ...shared, budgets, signals, followUps: () => [], abort: () => {} });
  const dispatches = createDispatches(shared);
  const automations = createAutomations({
    ...shared,
    runs,
    dispatches,
    members: access.members,
    wakeUps: { ensure: async (instants) => ensure(instants) },
    random: () => 0,
  });
  return { automations, ownership: automationOwnership({ clock, dispatches }), dispatches, runs };
}
