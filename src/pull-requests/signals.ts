import type { IsHead, StatusPost } from "../commit-status/index.ts";
import type { PostingSuite, StatusPosts, SuiteEnded } from "../evals/index.ts";
import type { Database } from "../platform/db/index.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import type { PullRequestHost } from "../repositories/index.ts";
import { countedPlaces } from "./agent-store.ts";
import { settleJob } from "./settle.ts";
import { type HeadRow, headsOfCommit } from "./store.ts";

/**
 * Makes what eval suites are to call in the transaction that ends one: if its commit is the head of something whose
 * suites were made, that is settled.
 */
export function createSuiteEnded({ queue }: { queue: JobQueue }): SuiteEnded {
  return async (tx, { workspaceId, commitSha }) => {
    const heads = await headsOfCommit(tx, workspaceId, commitSha);
    const planned = heads.some(({ state }) => state !== "awaiting_approval" && state !== "planning");
    if (planned) await queue.enqueue(tx, settleJob(workspaceId, commitSha));
  };
}

export interface StatusPostsDeps {
  db: Database;
  /** What became of the statuses of commits, without those that have none. */
  posts(workspaceId: string, shas: readonly string[]): Promise<ReadonlyMap<string, StatusPost>>;
}

/**
 * Makes the function that tells of suites what became of their commits' statuses, by the ids of the suites. One
 * whose texts are not those of an agent that the commit changes has no part in the status, and is left out.
 */
export function createStatusPosts({ db, posts }: StatusPostsDeps): StatusPosts {
  return async (suites) => {
    const found = new Map<string, StatusPost>();
    for (const [workspaceId, own] of Map.groupBy(suites, (suite) => suite.workspaceId)) {
      const shas = [...new Set(own.map(({ commitSha }) => commitSha))];
      const places = new Set((await countedPlaces(db.read, workspaceId, shas)).map(keyOf));
      const counted = own.filter((suite) => places.has(keyOf(suite)));
      if (counted.length === 0) continue;
      const posted = await posts(workspaceId, shas);
      for (const { id, commitSha } of counted) {
        const post = posted.get(commitSha);
        if (post) found.set(id, post);
      }
    }
    return found;
  };
}

const keyOf = ({ commitSha, specSha, evalSha, agent }: Omit<PostingSuite, "id" | "workspaceId">) =>
  [commitSha, specSha, evalSha, agent].join();

export interface IsHeadDeps {
  db: Database;
  host: PullRequestHost | undefined;
}

/**
 * Makes the function that looks, right before a status is posted, whether a commit is the head of something that
 * needs one: an open pull request, one that was merged with it, or a merge group.
 */
export function createIsHead({ db, host }: IsHeadDeps): IsHead {
  async function stillHead({ number, merge_branch, head_sha }: HeadRow): Promise<boolean> {
    if (merge_branch !== null) return (await host?.branchHead(merge_branch)) === head_sha;
    const facts = await host?.pullRequest(number);
    return facts?.headSha === head_sha && (facts.open || facts.merged);
  }

  return async (workspaceId, sha) => {
    for (const head of await headsOfCommit(db.read, workspaceId, sha)) {
      if (await stillHead(head)) return true;
    }
    return false;
  };
}
