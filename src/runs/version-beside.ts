import { z } from "zod";
import type { Agents, RunnableVersion } from "../agents/index.ts";
import { RunFailure } from "../frameworks/index.ts";
import { fromJson } from "../platform/db/index.ts";
import { AppError } from "../platform/errors.ts";
import type { RunRow } from "./store.ts";

type Beside = Pick<RunnableVersion, "specSha" | "commitSha">;

/**
 * The version of another agent that goes with a run. Where that was fixed when the run was made, it is the one of
 * the run's own commit. Otherwise a draft works together with drafts, any other version with stable ones, and with
 * the draft of an agent that has none. Throws RunFailure `invalid_spec` when there is no version that can be run.
 */
export async function versionBeside(
  agents: Pick<Agents, "resolve">,
  run: Pick<RunRow, "workspace_id" | "version" | "commit_sha" | "agents_beside">,
  name: string,
): Promise<Beside> {
  if (run.agents_beside !== null) return fixedVersion(run.agents_beside, run.commit_sha, name);
  try {
    return await agents.resolve(run.workspace_id, name, run.version === "draft" ? "draft" : undefined);
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    throw new RunFailure("invalid_spec", `The agent needs the agent ${name}. ${error.message}`);
  }
}

function fixedVersion(agentsBeside: string, commitSha: string, name: string): Beside {
  const hashes = new Map(Object.entries(fromJson(z.record(z.string(), z.string()), agentsBeside)));
  const specSha = hashes.get(name);
  if (specSha !== undefined) return { specSha, commitSha };
  const where = `the commit ${commitSha.slice(0, 12)} has no valid agent of this name.`;
  throw new RunFailure("invalid_spec", `The agent needs the agent ${name}, and ${where}`);
}
