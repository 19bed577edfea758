import { z } from "zod";
import type { Agents } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import { type AgentSpec, RunFailure, type RunReach, type RunTool } from "../frameworks/index.ts";
import { type ModelConnection, type ModelKeys, resolveModel } from "../models/index.ts";
import { fromJson } from "../platform/db/index.ts";
import type { RunRow } from "./store.ts";
import { versionBeside } from "./version-beside.ts";

export interface MeansDeps {
  agents: Agents;
  connections: Connections;
  /** The workspace's keys for model providers. */
  modelKeys(workspaceId: string): Promise<ModelKeys>;
}

/** Puts around each tool what has to happen when a run calls it. */
type Meter = (tool: RunTool) => RunTool;

/** Finds what a run works with: models, tools with its member's connections, and other agents. */
export function createMeans({ agents, connections, modelKeys }: MeansDeps) {
  /** Throws RunFailure `model_not_configured`. */
  async function modelOf(run: RunRow, ref: string): Promise<ModelConnection> {
    const resolved = resolveModel(ref, await modelKeys(run.workspace_id));
    if (!resolved.ok) throw new RunFailure("model_not_configured", resolved.reason);
    return resolved.model;
  }

  /** The tools of a spec that the run may call. Throws RunFailure `connection_missing` or `connection_expired`. */
  async function toolsOf(run: RunRow, spec: AgentSpec, commitSha: string, meter: Meter): Promise<RunTool[]> {
    const slugs = toolsOfRun(run, spec.connections);
    if (slugs.length === 0) return [];
    const user = { workspaceId: run.workspace_id, login: run.run_as };
    const [missing] = await connections.missing(user, slugs);
    if (missing) throw new RunFailure("connection_missing", `Not connected: ${missing.slugs.join(", ")}.`);
    return (await connections.prepare(slugs, { ...user, commitSha })).map(meter);
  }

  return {
    modelOf,
    toolsOf,
    /** What the run's agent can reach while it is executed. */
    reachOf: (run: RunRow, meter: Meter): RunReach => ({
      model: (ref) => modelOf(run, ref),
      async agent(name) {
        const version = await versionBeside(agents, run, name);
        const spec = await agents.spec(version.specSha);
        const tools = await toolsOf(run, spec, version.commitSha, meter);
        return { spec, model: await modelOf(run, spec.model), tools };
      },
    }),
  };
}

/** Those tools of the spec that the run may call: fixed when it was accepted, whatever was changed meanwhile. */
function toolsOfRun({ tools_allowed }: RunRow, slugs: readonly string[]): readonly string[] {
  if (tools_allowed === null) return slugs;
  const allowed = fromJson(z.array(z.string()), tools_allowed);
  return slugs.filter((slug) => allowed.includes(slug));
}
