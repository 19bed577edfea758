import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import { type JobQueue, RetryLater } from "../platform/jobs/index.ts";
import type { PullRequest, PullRequestHost } from "../repositories/index.ts";
import { suiteIdsOf } from "./agent-store.ts";
import { decide } from "./decide.ts";
import { planJob } from "./plan-job.ts";
import type { Consider, Subject, Suites } from "./ports.ts";
import { settleJob } from "./settle.ts";
import {
  type HeadRow,
  liveHeads,
  lockHeads,
  lockMergeHead,
  openStates,
  placeHead,
  updateHead,
} from "./store.ts";

export interface ConsiderDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  queue: JobQueue;
  host: PullRequestHost;
  evals: Pick<Suites, "supersede">;
  workspaceId: string;
}

type MergeGroup = Extract<Subject, { kind: "merge_group" }>;

/** Times that the host is asked again because somebody else was faster. */
const mostAsks = 5;

/** The heads are not those that there were before the host was asked. */
class HeadsChanged extends Error {}

/** Makes the function that brings the heads of pull requests and merge groups up to what the host says. */
export function createConsider({ db, ids, clock, queue, host, evals, workspaceId }: ConsiderDeps): Consider {
  async function considerPullRequest(number: number): Promise<string | undefined> {
    for (let asked = 0; asked < mostAsks; asked++) {
      const before = printOf(await liveHeads(db.read, workspaceId, number));
      const facts = await host.pullRequest(number);
      try {
        await db.transaction((tx) => apply(tx, number, facts, before));
        return facts?.headSha;
      } catch (error) {
        if (!(error instanceof HeadsChanged)) throw error;
      }
    }
    throw new RetryLater("The pull request keeps changing; it is looked at again.", 1_000);
  }

  /**
   * What the host said is out of date when the heads have changed since: then another delivery was worked off, maybe
   * with newer facts. The new row comes before the lock, so that of two which add one at once the later waits.
   */
  async function apply(tx: Tx, number: number, facts: PullRequest | undefined, before: string) {
    const fresh = facts?.open && !facts.draft ? newHead(pullRequestHead(facts)) : undefined;
    if (fresh) await placeHead(tx, fresh);
    const heads = await lockHeads(tx, workspaceId, number, facts?.headSha);
    const known = heads.filter(({ id }) => id !== fresh?.id);
    if (printOf(known.filter(({ state }) => state !== "superseded")) !== before) throw new HeadsChanged();
    const { end, begin } = decide(facts, known);
    for (const { head, reason } of end) await supersede(tx, head, reason);
    if (known.length < heads.length && fresh) await start(tx, fresh);
    else if (begin && facts) await restart(tx, begin.head, pullRequestHead(facts), begin.renewed);
  }

  async function considerMergeGroup(group: MergeGroup): Promise<string | undefined> {
    const { branch, headSha, destroyed } = group;
    const seen = destroyed ? undefined : await host.branchHead(branch);
    if (!destroyed && seen !== headSha) return seen;
    await db.transaction(async (tx) => {
      const fresh = destroyed ? undefined : newHead(mergeGroupHead(group));
      if (fresh) await placeHead(tx, fresh);
      const head = await lockMergeHead(tx, workspaceId, headSha);
      if (destroyed && head && openStates.includes(head.state)) {
        await supersede(tx, head, "The merge group was dissolved.");
      } else if (fresh && head?.id === fresh.id) await start(tx, fresh);
      else if (fresh && (head?.state === "superseded" || head?.state === "error"))
        await restart(tx, head, mergeGroupHead(group), "The commit is evaluated anew.");
    });
    return seen;
  }

  function newHead(proposal: Proposal): HeadRow {
    const now = clock();
    return {
      ...proposal,
      id: ids("prh"),
      workspace_id: workspaceId,
      base_sha: null,
      run_as: null,
      approved_by: null,
      state: proposal.fork === 1 ? "awaiting_approval" : "planning",
      reason: null,
      created_at: now,
      updated_at: now,
      finished_at: null,
    };
  }

  async function start(tx: Tx, head: HeadRow): Promise<void> {
    const { state, workspace_id, head_sha } = head;
    // A head that waits shows so at once; one that is planned has something to show when it is.
    await queue.enqueue(tx, state === "planning" ? planJob(head) : settleJob(workspace_id, head_sha));
  }

  /** Plans a head anew, or has it wait again if nobody has approved it. */
  async function restart(tx: Tx, head: HeadRow, proposal: Proposal, reason: string): Promise<void> {
    await evals.supersede(tx, workspaceId, await suiteIdsOf(tx, [head.id]), reason);
    const approved = proposal.fork === 0 || head.approved_by !== null;
    const again: HeadRow = {
      ...head,
      ...proposal,
      base_sha: null,
      state: approved ? "planning" : "awaiting_approval",
      reason: null,
      updated_at: clock(),
      finished_at: null,
    };
    await updateHead(tx, head.id, again);
    await start(tx, again);
  }

  async function supersede(tx: Tx, head: HeadRow, reason: string): Promise<void> {
    const now = clock();
    // First, so that the ends of its suites find no head that waits for them.
    const finished_at = head.finished_at ?? now;
    await updateHead(tx, head.id, { state: "superseded", reason, updated_at: now, finished_at });
    await evals.supersede(tx, workspaceId, await suiteIdsOf(tx, [head.id]), reason);
    // The commit may be the head of something else, too.
    await queue.enqueue(tx, settleJob(workspaceId, head.head_sha));
  }

  return (subject) => {
    switch (subject.kind) {
      case "pull_request":
        return considerPullRequest(subject.number);
      case "merge_group":
        return considerMergeGroup(subject);
    }
  };
}

/** What a host says of a commit that is proposed. */
type Proposal = Pick<
  HeadRow,
  "number" | "merge_branch" | "head_sha" | "base_ref" | "base_head" | "author" | "author_belongs" | "fork"
>;

const pullRequestHead = (facts: PullRequest): Proposal => ({
  number: facts.number,
  merge_branch: null,
  head_sha: facts.headSha,
  base_ref: facts.baseRef,
  base_head: facts.baseSha,
  author: facts.author,
  author_belongs: Number(facts.authorBelongs),
  fork: Number(facts.fork),
});

const mergeGroupHead = ({ branch, headSha, baseRef, baseSha }: MergeGroup): Proposal => ({
  number: 0,
  merge_branch: branch,
  head_sha: headSha,
  base_ref: baseRef,
  base_head: baseSha,
  author: "",
  author_belongs: 0,
  // Who puts something into the queue may write to the repository.
  fork: 0,
});

const printOf = (heads: readonly HeadRow[]) =>
  heads.map(({ id, updated_at }) => `${id}:${updated_at}`).join();
