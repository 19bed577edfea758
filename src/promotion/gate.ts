import type { Draft } from "../agents/index.ts";
import { conflict } from "../platform/errors.ts";

/** How the newest suite ended that passed or failed for exactly these two texts; undefined when there is none. */
export type NewestVerdict = (
  workspaceId: string,
  agent: string,
  specSha: string,
  evalSha: string,
) => Promise<{ status: "passed" | "failed"; evalId: string } | undefined>;

/**
 * Lets a draft pass when its evals passed, or when it has none. Answers the id of the suite that it passed,
 * null without evals; otherwise throws 409 with the reason in details.
 */
export async function passGate(
  newestVerdict: NewestVerdict,
  workspaceId: string,
  { agent, specSha, evals }: Draft,
): Promise<string | null> {
  switch (evals.kind) {
    case "none":
      return null;
    case "broken":
      throw conflict(`The eval file of ${agent} is not valid; correct the problems in details.`, {
        reason: "eval_file_invalid",
        problems: evals.problems,
      });
    case "valid": {
      const verdict = await newestVerdict(workspaceId, agent, specSha, evals.sha);
      if (verdict?.status === "passed") return verdict.evalId;
      throw verdict ? failed(agent, verdict.evalId) : missing(agent);
    }
  }
}

const missing = (agent: string) =>
  conflict(
    `The evals of ${agent} have not passed on this draft yet; queue them with POST /evals and promote it when they have.`,
    { reason: "evals_missing" },
  );

const failed = (agent: string, evalId: string) =>
  conflict(
    `The evals of ${agent} failed on this draft; correct what GET /evals/${evalId} shows, then run them again.`,
    { reason: "evals_failed", evalId },
  );
