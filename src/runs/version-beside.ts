import type { Agents, RunnableVersion } from "../agents/index.ts";
import { RunFailure } from "../frameworks/index.ts";
import { AppError } from "../platform/errors.ts";
import type { RunRow } from "./store.ts";

/**
 * The version of another agent that goes with a run: a draft works together with drafts, any other version with
 * stable ones, and with the draft of an agent that has none. Throws RunFailure `invalid_spec` when it has no
 * version that can be run.
 */
export async function versionBeside(
  agents: Pick<Agents, "resolve">,
  run: Pick<RunRow, "workspace_id" | "version">,
  name: string,
): Promise<RunnableVersion> {
  try {
    return await agents.resolve(run.workspace_id, name, run.version === "draft" ? "draft" : undefined);
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    throw new RunFailure("invalid_spec", `The agent needs the agent ${name}. ${error.message}`);
  }
}
