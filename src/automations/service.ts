import { type Access, holdOwner, requireMayName, requireOwn } from "../access/index.ts";
import type { Agents } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Database, insertAll, type Tx } from "../platform/db/index.ts";
import { conflict, notFound } from "../platform/errors.ts";
import { type Actor, toPage } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import type { Runs } from "../runs/index.ts";
import { createSchedules, requireSchedule } from "./cron.ts";
import { deleteFires, latestSettled, listFires } from "./fire-store.ts";
import { settlePending } from "./pending.ts";
import { presentAutomation, presentFire, toZonedInstant } from "./present.ts";
import type {
  Automation,
  ChangeAutomation,
  CreateAutomation,
  ListAutomations,
  ListFires,
  SchedulePreview,
} from "./schema.ts";
import {
  type AutomationRow,
  anyWaiting,
  deleteAutomation,
  findAutomation,
  insertAutomation,
  listAutomations,
  lockAutomation,
  retryWaiting,
  updateAutomation,
} from "./store.ts";
import { createSweep, type WakeUps } from "./sweep.ts";

export interface AutomationsDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  logger: Logger;
  agents: Pick<Agents, "resolve" | "catalog">;
  connections: Pick<Connections, "missing">;
  members: Pick<Access["members"], "list" | "hold">;
  runs: Pick<Runs, "order" | "orderFailed" | "states" | "requireConnections">;
  dispatches: Dispatches;
  wakeUps: WakeUps;
  /** From 0 up to but not including 1; spreads retries. */
  random?(): number;
}

export type Automations = ReturnType<typeof createAutomations>;

const previewed = 10;

/** Scheduled runs of agents: writing and reading automations, and firing them when they are due. */
export function createAutomations(deps: AutomationsDeps) {
  const { db, ids, clock, agents, members, runs, dispatches } = deps;
  const schedules = createSchedules();
  const sweep = createSweep({ ...deps, schedules, random: deps.random ?? Math.random });

  async function get(workspaceId: string, id: string): Promise<AutomationRow> {
    const row = await findAutomation(db.read, workspaceId, id);
    if (!row) throw unknownAutomation();
    return row;
  }

  async function lockOwn(tx: Tx, actor: Actor, id: string): Promise<AutomationRow> {
    const row = await lockAutomation(tx, actor.workspaceId, id);
    if (!row) throw unknownAutomation();
    requireOwn(actor, row.owner, "automation");
    return row;
  }

  /** Throws 404 for an unknown agent, 422 for one that cannot be run. */
  async function create(tx: Tx, actor: Actor, body: CreateAutomation): Promise<Automation> {
    const { workspaceId } = actor;
    const now = clock();
    const owner = body.owner ?? actor.login;
    requireMayName(actor, owner);
    const schedule = requireSchedule(schedules, body.schedule, body.timezone, now);
    const { version } = await agents.resolve(workspaceId, body.agent, body.targetVersion);
    await holdOwner(members, tx, workspaceId, owner);
    const next = body.enabled ? (schedule.nextAfter(now) ?? null) : null;
    const row: AutomationRow = {
      id: ids("aut"),
      workspace_id: workspaceId,
      agent: body.agent,
      schedule: body.schedule,
      timezone: body.timezone,
      message: body.message,
      owner,
      target_version: version === "draft" ? "draft" : "stable",
      enabled: body.enabled ? 1 : 0,
      overlap: body.overlap,
      ...{ paused_reason: null, error_reason: null, waiting_reason: null, attempts: 0, failing: 0 },
      ...{ next_run_at: next, due_at: next, last_fire_at: null, last_run_id: null },
      ...{ created_at: now, updated_at: now },
    };
    await insertAutomation(tx, row);
    afterCommit(tx, () => sweep.announce(next));
    return presentAutomation(row);
  }

  async function change(tx: Tx, actor: Actor, id: string, body: ChangeAutomation): Promise<Automation> {
    const row = await lockOwn(tx, actor, id);
    const now = clock();
    const wanted = { ...row, ...columnsOf(body) };
    const { workspace_id, agent, target_version, owner } = wanted;
    if (owner !== row.owner) requireMayName(actor, owner);
    if (agent !== row.agent || target_version !== row.target_version)
      await agents.resolve(workspace_id, agent, target_version);
    // Pausing is ended by nothing but saying whether the automation is to go on.
    if (body.enabled !== undefined) wanted.paused_reason = null;
    const wasOn = row.enabled === 1 && row.paused_reason === null;
    const turnsOn = !wasOn && wanted.enabled === 1 && wanted.paused_reason === null;
    if (owner !== row.owner || turnsOn) await holdOwner(members, tx, workspace_id, owner);
    const next = Object.assign(wanted, await reschedule(tx, row, wanted, now));
    next.updated_at = now;
    await updateAutomation(tx, id, next);
    afterCommit(tx, () => sweep.announce(next.due_at));
    return presentAutomation(next);
  }

  /** The columns that a change of when it fires brings along; none when that stays as it was. */
  async function reschedule(tx: Tx, row: AutomationRow, wanted: AutomationRow, now: number) {
    const same = (["schedule", "timezone", "enabled", "paused_reason"] as const).every(
      (column) => wanted[column] === row[column],
    );
    if (same) return {};
    const { schedule, timezone } = wanted;
    const used =
      schedule !== row.schedule || timezone !== row.timezone || wanted.enabled === 1
        ? requireSchedule(schedules, schedule, timezone, now)
        : undefined;
    const reason = "The automation was changed before this occurrence was started.";
    await settlePending(tx, schedules, row, { outcome: "missed", reason, now });
    const runs = wanted.enabled === 1 && wanted.paused_reason === null;
    // By a clock that is behind, what other processes have settled already would come once more.
    const settled = (await latestSettled(tx, row.id)) ?? now;
    const next_run_at = (runs ? used?.nextAfter(Math.max(now, settled)) : undefined) ?? null;
    if (row.attempts > 0) {
      const about = { workspaceId: row.workspace_id, kind: "schedule", ref: row.id } as const;
      await dispatches.postponed(tx, about, next_run_at);
    }
    return { next_run_at, due_at: next_run_at, waiting_reason: null, attempts: 0 };
  }

  async function remove(tx: Tx, actor: Actor, id: string): Promise<void> {
    const { workspace_id: workspaceId } = await lockOwn(tx, actor, id);
    await deleteAutomation(tx, id);
    await deleteFires(tx, id);
    await dispatches.withdrawn(tx, { workspaceId, kind: "schedule", ref: id });
  }

  /**
   * A run of the automation now, in its owner's name and whatever its state. Settles with what commits it. Throws as
   * asking for a run does.
   */
  async function prepareRun(actor: Actor, id: string) {
    const row = await get(actor.workspaceId, id);
    requireOwn(actor, row.owner, "automation");
    const { agent, owner, workspace_id: workspaceId, message } = row;
    const version = await agents.resolve(workspaceId, agent, row.target_version);
    await runs.requireConnections({ workspaceId, login: owner }, version.connections);
    return async (tx: Tx): Promise<{ runId: string }> => {
      const locked = await lockOwn(tx, actor, id);
      if (locked.updated_at !== row.updated_at)
        throw conflict("The automation was changed at this moment; look at it and run it again.");
      await holdOwner(members, tx, workspaceId, owner);
      const order = { workspaceId, agent, version, trigger: "api", runAs: owner, message } as const;
      const { id: runId, rows, committed } = runs.order({ ...order, automationId: id });
      await insertAll(tx, rows);
      await updateAutomation(tx, id, { last_run_id: runId, error_reason: null, failing: 0 });
      if (locked.failing === 1)
        await dispatches.recovered(tx, { workspaceId, kind: "schedule", ref: id, runId });
      afterCommit(tx, committed);
      return { runId };
    };
  }

  return {
    create,
    change,
    remove,
    prepareRun,
    get: async (workspaceId: string, id: string) => presentAutomation(await get(workspaceId, id)),
    async list(workspaceId: string, filter: ListAutomations) {
      const { page, nextBefore } = toPage(await listAutomations(db.read, workspaceId, filter), filter.limit);
      return { automations: page.map(presentAutomation), nextBefore };
    },
    async fires(workspaceId: string, id: string, filter: ListFires) {
      await get(workspaceId, id);
      const rows = (await listFires(db.read, id, filter)).map((row) => ({
        ...row,
        id: String(row.scheduled_for),
      }));
      const { page, nextBefore } = toPage(rows, filter.limit);
      return { fires: page.map(presentFire), nextBefore };
    },
    /** The next ten occurrences of a schedule. Throws as creating an automation with it does. */
    preview(expression: string, timezone: string): SchedulePreview {
      const schedule = requireSchedule(schedules, expression, timezone, clock());
      const next: string[] = [];
      let instant = schedule.nextAfter(clock());
      while (instant !== undefined && next.length < previewed) {
        next.push(toZonedInstant(instant, timezone));
        instant = schedule.nextAfter(instant);
      }
      return { schedule: expression, timezone, next };
    },
    fireDue: sweep.fireDue,
    wake: sweep.wake,
    start: sweep.start,
    /** The repository can be read again: what waits for that is started at once. Cheap when nothing does. */
    async repositoryBack(workspaceId: string): Promise<void> {
      if (!(await anyWaiting(db.read, workspaceId))) return;
      await db.transaction((tx) => retryWaiting(tx, workspaceId, clock()));
      await sweep.wake();
    },
  };
}

const unknownAutomation = () =>
  notFound("No automation has this id; GET /automations lists those there are.");

function columnsOf(body: ChangeAutomation): Partial<AutomationRow> {
  const { targetVersion, enabled, ...alike } = body;
  const given = Object.fromEntries(Object.entries(alike).filter(([, value]) => value !== undefined));
  return {
    ...given,
    ...(targetVersion === undefined ? {} : { target_version: targetVersion }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
  };
}
