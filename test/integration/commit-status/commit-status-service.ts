import {
  type CommitStatuses,
  type CommitStatusesDeps,
  createCommitStatuses,
  type WantedStatus,
} from "../../../src/commit-status/index.ts";
import type { Database } from "../../../src/platform/db/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import type { NewCheckRun, NewCommitStatus, PullRequestHost } from "../../../src/repositories/index.ts";
import { createTestWorker, type TestWorker } from "../../support/job-worker.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

export const postKind = "commit_status.post";

/** A commit that exists nowhere. */
export const someSha = "a1".repeat(20);

export const wanted = (change: Partial<WantedStatus> = {}): WantedStatus => ({
  sha: someSha,
  state: "pending",
  description: "Evals are running.",
  report: { title: "Evals", summary: "Running.", annotations: [] },
  ...change,
});

export const passed = (change: Partial<WantedStatus> = {}): WantedStatus =>
  wanted({ state: "success", description: "1 of 1 agents passed", ...change });

export interface MemoryHost extends PullRequestHost {
  statuses: NewCommitStatus[];
  checkRuns: (NewCheckRun & { id: number | undefined })[];
  /** Called with each call before it is taken; a throw makes it fail. */
  onStatus(status: NewCommitStatus): Promise<void> | void;
  onCheckRun(run: NewCheckRun): Promise<void> | void;
}

/** A host that takes everything and keeps it in memory. Check runs that it makes get 1, 2, … */
export function createMemoryHost(): MemoryHost {
  let made = 0;
  const host: MemoryHost = {
    statuses: [],
    checkRuns: [],
    onStatus() {},
    onCheckRun() {},
    pullRequest: async () => undefined,
    mergeBase: async () => undefined,
    branchHead: async () => undefined,
    async postStatus(status) {
      await host.onStatus(status);
      host.statuses.push(status);
      return { posted: true };
    },
    async postCheckRun(run) {
      await host.onCheckRun(run);
      host.checkRuns.push(run);
      if (run.id === undefined) made += 1;
      return { id: run.id ?? made };
    },
  };
  return host;
}

export interface Service extends TestWorker {
  statuses: CommitStatuses;
  workspaceId: string;
  /** Asks for something in a transaction of its own. */
  want(status: WantedStatus): Promise<void>;
  /** What became of it; undefined when nothing was asked for. */
  post(
    sha?: string,
  ): ReturnType<CommitStatuses["posts"]> extends Promise<Map<string, infer P>>
    ? Promise<P | undefined>
    : never;
  /** Lets jobs that wait for their next try be done now. */
  hurry(): Promise<void>;
  /** One of each job that was begun so far, aborted when its worker has lost it. */
  signals: AbortSignal[];
  /** Lines that were logged so far. */
  lines: Record<string, unknown>[];
}

/** Commit statuses with a worker that is started, in a workspace of its own unless one is given. */
export async function startService(
  db: Database,
  deps: Partial<CommitStatusesDeps> & {
    host: PullRequestHost | undefined;
    workspaceId?: string;
    worker?: Parameters<typeof createTestWorker>[1];
  },
): Promise<Service> {
  const workspaceId = deps.workspaceId ?? (await setUpWorkspace(db)).workspaceId;
  const test = createTestWorker(db, deps.worker);
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const statuses = createCommitStatuses({
    db,
    ids: createIds(),
    clock: Date.now,
    logger: createLogger("debug", createRedactor(), stream),
    queue: test.queue,
    settings: {
      evals: async () => ({ judgeModel: null, evalOwner: null, postStatus: true, evalCache: true }),
    },
    isHead: async () => true,
    link: (sha) => `https://rollcall.example/commits/${sha}`,
    ...deps,
  });
  const signals: AbortSignal[] = [];
  test.worker.define({
    ...statuses.job,
    handle(job) {
      signals.push(job.signal);
      return statuses.job.handle(job);
    },
  });
  test.worker.start();
  return {
    ...test,
    statuses,
    workspaceId,
    signals,
    lines,
    want: (status) => db.transaction((tx) => statuses.want(tx, workspaceId, status)),
    post: async (sha = someSha) => (await statuses.posts(workspaceId, [sha])).get(sha),
    async hurry() {
      await db.transaction((tx) => tx("jobs").where({ state: "queued" }).update({ run_at: 1 }));
      test.queue.wake(postKind);
    },
  };
}
