import type { CommitStatuses } from "../commit-status/index.ts";
import { toPage } from "../platform/http/index.ts";
import type { PullRequestHost } from "../repositories/index.ts";
import { type Approval, createApprove, unknownPullRequest } from "./approve.ts";
import { type ConsiderDeps, createConsider } from "./consider.ts";
import { pullRequestEndpoints } from "./endpoints.ts";
import { judgeHeads } from "./judge-heads.ts";
import { createPlanJob, type PlanJobDeps } from "./plan-job.ts";
import type { Suites } from "./ports.ts";
import { presentHead } from "./present.ts";
import type { ListPullRequests, PullRequestHead } from "./schema.ts";
import { createSettle } from "./settle.ts";
import { currentHead, type HeadRow, listHeads } from "./store.ts";
import { createSweep } from "./sweep.ts";

export interface PullRequestsDeps extends Omit<ConsiderDeps, "host">, PlanJobDeps {
  /** Undefined for a repository without pull requests. */
  host: PullRequestHost | undefined;
  evals: Suites;
  commitStatuses: Pick<CommitStatuses, "want" | "posts">;
}

/** Pull requests and merge groups: which agents they change, and whether the evals of these pass. */
export function createPullRequests(deps: PullRequestsDeps) {
  const { db, host, evals, commitStatuses } = deps;
  const approveHead = createApprove(deps);

  /** One head after the other in the same order; all of one workspace. */
  async function present(workspaceId: string, heads: readonly HeadRow[]): Promise<PullRequestHead[]> {
    const [judged, posts] = await Promise.all([
      judgeHeads(db.read, evals, workspaceId, heads),
      commitStatuses.posts(
        workspaceId,
        heads.map(({ head_sha }) => head_sha),
      ),
    ]);
    return judged.map((each) => presentHead(each, posts.get(each.head.head_sha)));
  }

  async function list(workspaceId: string, filter: ListPullRequests) {
    const { page, nextBefore } = toPage(await listHeads(db.read, workspaceId, filter), filter.limit);
    return { pullRequests: await present(workspaceId, page), nextBefore };
  }

  /** The head that counts, else the newest one. Throws 404. */
  async function get(workspaceId: string, number: number | undefined): Promise<PullRequestHead> {
    const head = number && (await currentHead(db.read, workspaceId, number));
    const [shown] = head ? await present(workspaceId, [head]) : [];
    if (!shown) throw unknownPullRequest();
    return shown;
  }

  /** Releases a head that waits. Throws 404 and 409. */
  async function approve({ actor, number, headSha, write }: Approval): Promise<PullRequestHead> {
    if (number === undefined) throw unknownPullRequest();
    // Read before the transaction, which would need a second connection of the pool for it.
    const before = await list(actor.workspaceId, { number, headSha, limit: 1 });
    return write.transaction(async (tx) => {
      const head = await approveHead(tx, actor, number, headSha);
      const { agents = [], statusPost } = before.pullRequests[0] ?? {};
      const answer = { ...presentHead({ head, state: head.state, agents: [] }, statusPost), agents };
      return { answer, target: String(number), details: { headSha } };
    });
  }

  const { sweep, start } = createSweep(deps);
  return {
    /** Undefined where there are no pull requests. */
    consider: host && createConsider({ ...deps, host }),
    endpoints: pullRequestEndpoints({ list, get, approve }),
    jobs: { plan: createPlanJob(deps), settle: createSettle(deps) },
    sweep,
    /** What a worker does beside its jobs. Returns how to stop it. */
    start,
  };
}
