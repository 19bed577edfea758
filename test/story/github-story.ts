import { setTimeout as sleep } from "node:timers/promises";
import type { GitHubService } from "../support/github-deliveries.ts";
import { examplePayload, type Payload } from "../support/github-payloads.ts";

/** GitHub's own example of an event, about pull request 12 of our repository. */
export function pullRequestPayload(name: string, headSha: string): Payload {
  const payload = examplePayload(name);
  return {
    ...payload,
    number: 12,
    repository: { ...payload.repository, full_name: "acme/agents" },
    pull_request: {
      ...payload.pull_request,
      number: 12,
      head: { ...payload.pull_request.head, sha: headSha },
      base: { ...payload.pull_request.base, ref: "main" },
    },
  };
}

/** What was posted on a commit, oldest first. */
export const statusesOf = ({ github }: GitHubService, sha: string) =>
  github.host.statuses
    .filter((each) => each.sha === sha)
    .map(({ context, state, description }) => ({ context, state, description }));

/** Waits until the newest status of a commit is a final one. */
export async function finalStatus(service: GitHubService, sha: string) {
  return eventually("a final status", service, () => {
    const last = statusesOf(service, sha).at(-1);
    return last?.state === "pending" ? undefined : last;
  });
}

/** Waits until the check run of a commit is completed, which comes after its status. */
export async function completedCheck(service: GitHubService, sha: string) {
  return eventually("a completed check run", service, () =>
    service.github.host.checkRuns.find((each) => each.head_sha === sha && each.status === "completed"),
  );
}

/** The first answer that is not undefined; throws, with the log, when none comes within 20 s. */
export async function eventually<T>(
  what: string,
  { app }: Pick<GitHubService, "app">,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error(`There was no sign of ${what}.\n${app.logs().join("")}`);
}
