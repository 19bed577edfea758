import { setTimeout as sleep } from "node:timers/promises";
import type { Refused } from "../pull-request-host.ts";
import type { GitHubApi } from "./api.ts";
import { adviceFor, type Refusal, refusalOf } from "./failures.ts";
import type { Guard } from "./guard.ts";
import type { InstallationOctokit } from "./octokit.ts";
import { createPace } from "./pace.ts";

/** GitHub lets an App write eighty times a minute: never more than that, and no waiting for what is usual. */
const WRITES_AT_ONCE = 20;
const WRITE_GAP = 1_000;

/** Makes one call that writes; `what` names the things that are written, in the plural. */
export type Write = <T>(
  what: string,
  send: (octokit: InstallationOctokit) => Promise<T>,
) => Promise<{ done: T } | Refused>;

/** Sends nothing again by itself: a call whose answer was lost may have been done, and each one adds something. */
export const ONCE = { retries: 0 };

/** The way to write to one repository: paced, and with what GitHub will never do told apart from what failed. */
export function createWrite(api: Pick<GitHubApi, "defaultBranch">, guard: Guard): Write {
  const pace = createPace(WRITES_AT_ONCE, WRITE_GAP);
  return async <T>(what: string, send: (octokit: InstallationOctokit) => Promise<T>) => {
    const wait = pace(performance.now());
    if (wait > 0) await sleep(wait);
    const answer = await guard(async (octokit): Promise<{ done: T } | Refusal> => {
      try {
        return { done: await send(octokit) };
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        return refusal;
      }
    });
    if ("done" in answer) return answer;
    // Throws when the repository itself is gone.
    if (answer.status === 404) await api.defaultBranch();
    return { refused: adviceFor(what, answer) };
  };
}
