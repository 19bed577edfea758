import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TriggerEvent } from "./event.ts";

const runFile = promisify(execFile);

/**
 * Paths below `agents` that differ between the event's base and the checkout, relative to `directory`, or "all"
 * when the branch is new. Throws with what to do when the base is not known or not in the checkout's history.
 */
export async function changedFiles(
  directory: string,
  base: TriggerEvent["base"],
): Promise<readonly string[] | "all"> {
  switch (base.kind) {
    case "new_branch":
      return "all";
    case "none":
      throw new Error(
        "This event names no commit to compare with; set the input agents to all or to a list of names.",
      );
    case "merge_base":
      return diff(directory, `${base.sha}...HEAD`);
    case "commit":
      return diff(directory, `${base.sha}..HEAD`);
  }
}

async function diff(directory: string, range: string): Promise<string[]> {
  const base = range.split(".")[0] ?? "";
  try {
    const args = ["diff", "--name-only", "-z", "--no-renames", "--relative", range, "--", "agents"];
    const { stdout } = await runFile("git", args, { cwd: directory, maxBuffer: 64 * 1024 * 1024 });
    return stdout.split("\0").filter(Boolean);
  } catch (error) {
    throw new Error(explain(error, base), { cause: error });
  }
}

function explain(error: unknown, base: string): string {
  const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
  if (code === "ENOENT")
    return "Git or the working directory is not there; check out first, or set the input agents.";
  if (/not a git repository|dubious ownership/i.test(stderr))
    return "The working directory is no Git checkout of this user; use actions/checkout before this step.";
  return `The checkout's history does not reach ${base.slice(0, 12)}; set fetch-depth: 0 for actions/checkout.`;
}
