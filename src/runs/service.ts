import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { Connections, ToolUser } from "../connections/index.ts";
import type { FailureCode } from "../frameworks/index.ts";
import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Database, type Rows, type Tx, toJson } from "../platform/db/index.ts";
import { conflict, notFound, unprocessable } from "../platform/errors.ts";
import type { Actor, StreamEvent } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Budgets } from "./budgets.ts";
import type { FollowUps } from "./ports.ts";
import { calledTool, foldProgress, type RunProgress } from "./progress.ts";
import { pollMs, type RunSignals, untilEnded } from "./run-signals.ts";
import type { CreateRun, ListRuns, RunTrigger } from "./schema.ts";
import {
  endedRunRows,
  endIdleRuns,
  eventsAfter,
  finalEvent,
  findRun,
  findRuns,
  findStates,
  keepEvents,
  listRuns,
  lockOpenRuns,
  lockRun,
  type NewRun,
  newestStepEvents,
  newRunRow,
  type RunRow,
  requestCancel,
  toolCallData,
} from "./store.ts";

/** The kind of job that executes a run. */
export const runJob = "run";

export interface RunsDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  queue: JobQueue;
  redactor: Redactor;
  agents: Agents;
  connections: Connections;
  budgets: Pick<Budgets, "limits" | "require">;
  signals: RunSignals;
  followUps: FollowUps;
  /** Stops a run that this process executes. */
  abort(runId: string): void;
}

/** A run that a feature starts, of a version that it has looked up and whose connections it has checked. */
export interface RunOrder {
  workspaceId: string;
  agent: string;
  version: RunnableVersion;
  trigger: RunTrigger;
  /** Login of the member whose connections the run uses; null for nobody's. */
  runAs: string | null;
  message: string;
  /** The eval suite that the run is a case of. */
  evalId?: string;
  /** What started it. */
  automationId?: string;
  triggerId?: string;
  webhookId?: string;
  /** Slugs that the run is held to, of those that its spec names; all of these unless given. */
  toolsAllowed?: readonly string[];
}

/** A run that was accepted and cannot start. Without a version nothing is known but which one was wanted. */
export interface FailedRunOrder extends Omit<RunOrder, "version"> {
  version: RunnableVersion | "stable" | "draft";
  failureCode: FailureCode;
  reason: string;
  diagnostics?: string;
}

export type Runs = ReturnType<typeof createRuns>;

const isQueued = ({ status }: RunRow) => status === "queued";
const idOf = ({ id }: RunRow) => id;

export const isFinal = (run: RunRow) => run.status !== "queued" && run.status !== "running";

export function createRuns(deps: RunsDeps) {
  const { db, ids, clock, queue, redactor, agents, connections, budgets, signals, followUps, abort } = deps;

  /**
   * The rows of a new run and of the job that executes it. Whoever commits them calls `committed` afterwards.
   */
  function order(wanted: RunOrder) {
    const id = ids("run");
    const run = newRunRow(newRun(id, wanted, wanted.version, clock()));
    return {
      id,
      rows: [run, queue.row({ kind: runJob, payload: { runId: id } })],
      committed: () => queue.wake(runJob),
    };
  }

  /** The rows of a run that ends `failed` when it is made: nobody executes it. */
  function orderFailed({ failureCode, reason, diagnostics, ...wanted }: FailedRunOrder): {
    id: string;
    rows: Rows;
  } {
    const id = ids("run");
    const now = clock();
    const version =
      typeof wanted.version === "string"
        ? { version: wanted.version, framework: "", specSha: "", commitSha: "" }
        : wanted.version;
    const errorDetails = redactor.scrub([reason, diagnostics].filter(Boolean).join("\n"));
    const end = { status: "failed", output: null, errorDetails, finishedAt: now } as const;
    return { id, rows: endedRunRows(newRun(id, wanted, version, now), { ...end, failureCode }) };
  }

  /** Throws 422, with what is missing, unless the member has authorised all of these tools. */
  async function requireConnections(user: ToolUser, slugs: readonly string[]): Promise<void> {
    const missing = await connections.missing(user, slugs);
    if (missing.length > 0) {
      throw unprocessable(
        "The agent needs tools that you have not connected; authorise them under Connections first.",
        { missing },
      );
    }
  }

  /**
   * The rows of a new run and of the job that executes it. Throws 404 for an unknown agent, 422 when it is
   * not valid, the member has not authorised what it needs, or a budget is used up.
   */
  async function prepare(actor: Actor, request: CreateRun) {
    const [version, limits] = await Promise.all([
      agents.resolve(actor.workspaceId, request.agent, request.version),
      budgets.limits(actor.workspaceId),
    ]);
    await requireConnections(actor, version.connections);
    await budgets.require(actor, { agent: request.agent, specSha: version.specSha, limits });
    const { workspaceId, login } = actor;
    return order({ ...request, workspaceId, version, trigger: "api", runAs: login });
  }

  async function get(workspaceId: string, id: string): Promise<RunRow> {
    const run = await findRun(db.read, workspaceId, id);
    if (!run) throw notFound("No run has this id; GET /runs lists those there are.");
    return run;
  }

  /** The run once it has ended, or as it is after that many seconds. */
  async function waitFor(
    workspaceId: string,
    id: string,
    seconds: number,
    signal: AbortSignal,
  ): Promise<RunRow> {
    const read = () => get(workspaceId, id);
    return untilEnded({ signals, id, seconds, signal, read, hasEnded: isFinal });
  }

  /** Ends a queued run at once, asks for the end of a running one. Throws 409 when it has ended otherwise. */
  async function cancel(tx: Tx, workspaceId: string, id: string): Promise<RunRow> {
    const run = await lockRun(tx, workspaceId, id);
    if (!run) throw notFound("No run has this id; GET /runs lists those there are.");
    if (run.status === "succeeded" || run.status === "failed")
      throw conflict(`The run has ${run.status} already.`);
    await cancelAll(tx, [id]);
    return (await lockRun(tx, workspaceId, id)) ?? run;
  }

  /** Ends those of the runs that are queued at once, asks for the end of running ones and leaves the others. */
  async function cancelAll(tx: Tx, ids: readonly string[]): Promise<void> {
    const open = await lockOpenRuns(tx, ids);
    const [queued, running] = [open.filter(isQueued), open.filter((run) => !isQueued(run))];
    if (queued.length > 0) await cancelQueued(tx, queued);
    if (running.length > 0) await requestCancel(tx, running.map(idOf), clock());
    afterCommit(tx, () => {
      for (const { id } of running) abort(id);
      for (const { id } of open) signals.notify(id);
    });
  }

  async function cancelQueued(tx: Tx, queued: readonly RunRow[]): Promise<void> {
    const end = {
      status: "cancelled",
      output: null,
      failureCode: "cancelled",
      errorDetails: null,
      finishedAt: clock(),
    } as const;
    await endIdleRuns(tx, queued.map(idOf), end);
    await keepEvents(
      tx,
      queued.map((run) => finalEvent(run, end)),
    );
    for (const job of queued.flatMap(followUps)) await queue.enqueue(tx, job);
  }

  /** The trace from a position on, as it grows, until the run has ended. */
  async function* trace(
    id: string,
    workspaceId: string,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<StreamEvent> {
    let [attempt, seq] = positionOf(after);
    while (!signal.aborted) {
      const changed = signals.next(id, pollMs, signal);
      // Read before the events: what ends the run is committed together with its last event.
      const ended = isFinal(await get(workspaceId, id));
      const events = await eventsAfter(db.read, id, attempt, seq);
      for (const event of events) {
        ({ attempt, seq } = event);
        yield {
          id: `${attempt}-${seq}`,
          event: event.type,
          data: { at: new Date(event.at).toISOString(), ...JSON.parse(event.data) },
        };
      }
      if (ended && events.length === 0) return;
      if (events.length === 0) await changed;
    }
  }

  return {
    order,
    orderFailed,
    requireConnections,
    prepare,
    get,
    /** Runs by their ids, without those that do not exist. */
    find: (ids: readonly string[]) => findRuns(db.read, ids),
    /** What has become of runs, by their ids. */
    states: (ids: readonly string[]) => findStates(db.read, ids),
    /** Slugs of the tools that the run called, in order, each as often as it was called. */
    async toolCalls(id: string): Promise<string[]> {
      return (await toolCallData(db.read, id)).flatMap((json) => calledTool(json) ?? []);
    },
    /** How far the newest step of the run is. */
    progress: async (id: string): Promise<RunProgress> => foldProgress(await newestStepEvents(db.read, id)),
    waitFor,
    cancel,
    cancelAll,
    list: (workspaceId: string, filter: ListRuns) => listRuns(db.read, workspaceId, filter),
    async trace(workspaceId: string, id: string, after: string | undefined, signal: AbortSignal) {
      await get(workspaceId, id);
      return trace(id, workspaceId, after, signal);
    },
  };
}

function newRun(
  id: string,
  order: Omit<RunOrder, "version">,
  version: Omit<RunnableVersion, "connections">,
  now: number,
): NewRun {
  return {
    id,
    workspace_id: order.workspaceId,
    agent: order.agent,
    framework: version.framework,
    version: version.version,
    commit_sha: version.commitSha,
    spec_sha: version.specSha,
    trigger: order.trigger,
    environment: version.version === "draft" ? "development" : "production",
    run_as: order.runAs ?? "",
    message: order.message,
    eval_id: order.evalId ?? null,
    automation_id: order.automationId ?? null,
    trigger_id: order.triggerId ?? null,
    webhook_id: order.webhookId ?? null,
    tools_allowed: order.toolsAllowed === undefined ? null : toJson(order.toolsAllowed),
    agents_beside: version.beside === undefined ? null : toJson(version.beside),
    created_at: now,
  };
}

function positionOf(lastEventId: string | undefined): [number, number] {
  const match = /^(\d{1,9})-(\d{1,9})$/.exec(lastEventId ?? "");
  return match ? [Number(match[1]), Number(match[2])] : [0, 0];
}
