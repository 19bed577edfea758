import type { z } from "zod";
import type { Agents } from "../agents/index.ts";
import { isUniqueViolation } from "../platform/db/index.ts";
import { AppError, conflict, notFound } from "../platform/errors.ts";
import { type Actor, toPage, type Writes } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { createRunSignals, untilEnded } from "../runs/index.ts";
import { type ChangeJobDeps, type ChangePayload, changeJobKind, createChangeJob } from "./change-job.ts";
import { presentChange, taskUrl } from "./present.ts";
import type { AgentChange, CreateAgentChange, ListAgentChanges, NewAgentChange } from "./schema.ts";
import { type ChangeRow, changeInsert, findChange, isBeingCreated, listChanges } from "./store.ts";
import { newFramework } from "./write-draft.ts";

export interface AgentChangesDeps extends ChangeJobDeps {
  ids: Ids;
  queue: JobQueue;
  agents: Pick<Agents, "get" | "list" | "check">;
}

export type AgentChanges = ReturnType<typeof createAgentChanges>;

/** Requests to write or change an agent: taking them, working on them and telling of them. */
export function createAgentChanges(deps: AgentChangesDeps) {
  const { db, ids, clock, queue, agents, publicUrl } = deps;
  const signals = createRunSignals();
  const job = createChangeJob({ ...deps, signals });

  /** Takes a request. Throws 404 for an unknown agent, 409 for a name that is taken. */
  async function request(actor: Actor, body: CreateAgentChange, write: Writes): Promise<NewAgentChange> {
    const row = await newRow(actor, body);
    const { id, kind, agent, agent_path } = row;
    const payload: z.infer<typeof ChangePayload> = { changeId: id };
    const answer = { task_id: id, html_url: taskUrl(publicUrl, id), kind, agent_path };
    try {
      return await write.insert({
        answer,
        target: id,
        details: { kind, agent },
        rows: [changeInsert(row), queue.row({ kind: changeJobKind, payload })],
        committed: () => queue.wake(changeJobKind),
      });
    } catch (error) {
      // The same name was asked for at this very moment.
      if (row.creating !== null && isUniqueViolation(error)) throw beingCreated(agent);
      throw error;
    }
  }

  async function newRow(actor: Actor, body: CreateAgentChange): Promise<ChangeRow> {
    const { workspaceId, login } = actor;
    const about =
      body.agent === undefined ? await newAgent(actor, body.name ?? "") : await known(actor, body.agent);
    const now = clock();
    return {
      id: ids("chg"),
      workspace_id: workspaceId,
      ...about,
      description: body.description,
      include_evals: body.includeEvals ? 1 : 0,
      requested_by: login,
      status: "queued",
      ...{ base_sha: null, draft: null, eval_id: null, evaluation: null },
      ...{ branch: null, commit_sha: null, url: null, error: null },
      ...{ created_at: now, updated_at: now, finished_at: null },
    };
  }

  async function known(actor: Actor, name: string) {
    const { path } = await agents.get(actor, name);
    return { kind: "edit", agent: name, creating: null, agent_path: path } as const;
  }

  async function newAgent(actor: Actor, name: string) {
    const found = await agents.get(actor, name).catch((error) => {
      if (error instanceof AppError && error.status === 404) return undefined;
      throw error;
    });
    if (found)
      throw conflict(`${found.path} is an agent of this name; send agent instead of name to change it.`);
    if (await isBeingCreated(db.read, actor.workspaceId, name)) throw beingCreated(name);
    const agent_path = `agents/${newFramework}/${name}.yaml`;
    return { kind: "create", agent: name, creating: name, agent_path } as const;
  }

  async function find(workspaceId: string, id: string): Promise<ChangeRow> {
    const row = await findChange(db.read, id, workspaceId);
    if (!row) throw notFound("No agent change has this id; GET /agent-changes lists those there are.");
    return row;
  }

  return {
    request,
    async list(workspaceId: string, filter: ListAgentChanges) {
      const { page, nextBefore } = toPage(await listChanges(db.read, workspaceId, filter), filter.limit);
      return { agentChanges: page.map((row) => presentChange(row, publicUrl)), nextBefore };
    },
    /** The change once it has ended, or as it is after that many seconds. Throws 404. */
    async waitFor(
      workspaceId: string,
      id: string,
      seconds: number,
      signal: AbortSignal,
    ): Promise<AgentChange> {
      const read = () => find(workspaceId, id);
      const hasEnded = ({ finished_at }: ChangeRow) => finished_at !== null;
      return presentChange(await untilEnded({ signals, id, seconds, signal, read, hasEnded }), publicUrl);
    },
    job,
  };
}

const beingCreated = (name: string) =>
  conflict(`An agent called ${name} is being created now; wait for it, or choose another name.`);
