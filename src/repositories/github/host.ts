import type { z } from "zod";
import type { PullRequest, PullRequestHost, Refused } from "../pull-request-host.ts";
import {
  checkRunAnswer,
  compareAnswer,
  type PullRequestAnswer,
  permissionAnswer,
  pullRequestAnswer,
  readAnswer,
} from "./answers.ts";
import { createGitHubApi, unless } from "./api.ts";
import { checkRunParts } from "./check-run.ts";
import type { Guard } from "./guard.ts";
import { ONCE, type Write } from "./write.ts";

/** What GitHub says of people who belong to the repository, unless they keep their membership private. */
const BELONGING = new Set(["OWNER", "MEMBER", "COLLABORATOR"]);
const WRITING = new Set(["admin", "write"]);

type CheckRunPart = ReturnType<typeof checkRunParts>["first"];

/**
 * Pull requests of a repository on GitHub, as an installation of the App sees them. A write whose answer was lost is
 * reported as unavailable; doing it again posts a second status of the same content, or a second check run of the same
 * name, of which GitHub shows the newer.
 */
export function createGitHubHost(owner: string, repo: string, guard: Guard, write: Write): PullRequestHost {
  const place = { owner, repo };
  const api = createGitHubApi(owner, repo, guard);
  const read = <S extends z.ZodType>(shape: S, data: unknown) => readAnswer(shape, data, `${owner}/${repo}`);

  /** Tells something that is not there from a repository that is not: throws for the latter. */
  async function absent(): Promise<undefined> {
    await api.defaultBranch();
    return undefined;
  }

  async function sendCheckRun(id: number | undefined, part: CheckRunPart): Promise<{ id: number } | Refused> {
    const answer = await write("check runs", async (octokit) => {
      const sent = { ...place, ...part, request: ONCE };
      if (id !== undefined) {
        const route = "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}";
        const changed = await octokit.request(route, { ...sent, check_run_id: id }).catch(unless(404));
        // One that is gone, because GitHub clears old ones away, is made again.
        if (changed !== 404) return changed.data;
      }
      return (await octokit.request("POST /repos/{owner}/{repo}/check-runs", sent)).data;
    });
    return "done" in answer ? { id: read(checkRunAnswer, answer.done).id } : answer;
  }

  /** Asked only where the pull request itself does not tell: anybody may open one between branches that are there. */
  async function belongs({ user, author_association }: PullRequestAnswer): Promise<boolean> {
    if (user === null || BELONGING.has(author_association)) return user !== null;
    const answer = await guard((octokit) => {
      const route = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
      return octokit.request(route, { ...place, username: user.login }).catch(unless(403, 404));
    });
    return typeof answer !== "number" && WRITING.has(read(permissionAnswer, answer.data).permission);
  }

  return {
    async pullRequest(number) {
      const answer = await guard((octokit) => {
        const route = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
        return octokit.request(route, { ...place, pull_number: number }).catch(unless(404));
      });
      if (answer === 404) return absent();
      const pull = read(pullRequestAnswer, answer.data);
      return toPullRequest(pull, await belongs(pull));
    },

    async mergeBase(baseSha, headSha) {
      const answer = await guard((octokit) => {
        const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
        // The changed files, up to 300 with their patches, come with the first page alone.
        const page = { per_page: 1, page: 2 };
        const sent = octokit.request(route, { ...place, basehead: `${baseSha}...${headSha}`, ...page });
        return sent.catch(unless(404));
      });
      return answer === 404 ? absent() : read(compareAnswer, answer.data).merge_base_commit.sha;
    },

    async branchHead(branch) {
      const ref = await api.ref(branch, undefined);
      return ref === undefined ? absent() : ref.commitSha;
    },

    async postStatus({ sha, context, state, description, targetUrl }) {
      const link = targetUrl === undefined ? {} : { target_url: targetUrl };
      const sent = { ...place, sha, context, state, description: plain(description), ...link };
      const answer = await write("commit statuses", (octokit) =>
        octokit.request("POST /repos/{owner}/{repo}/statuses/{sha}", sent),
      );
      return "done" in answer ? { posted: true } : answer;
    },

    async postCheckRun(run) {
      const { first, rest } = checkRunParts(run);
      let answer = await sendCheckRun(run.id, first);
      for (const part of rest) {
        if ("refused" in answer) break;
        answer = await sendCheckRun(answer.id, part);
      }
      return answer;
    },
  };
}

function toPullRequest(answer: PullRequestAnswer, authorBelongs: boolean): PullRequest {
  const { number, state, merged, draft, head, base, user } = answer;
  return {
    number,
    open: state === "open",
    merged,
    draft,
    headSha: head.sha,
    baseRef: base.ref,
    baseSha: base.sha,
    author: user?.login ?? "",
    authorBelongs,
    fork: head.repo?.full_name !== base.repo.full_name,
  };
}

/** GitHub refuses descriptions with characters beyond the basic plane, such as most emoji. */
const plain = (text: string) => text.toWellFormed().replace(/[\u{10000}-\u{10ffff}]/gu, "\ufffd");
