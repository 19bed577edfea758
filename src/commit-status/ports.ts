import type { CheckRunReport, CommitState } from "../repositories/index.ts";

/** What is to be shown on a commit. A later one replaces it, also when the earlier was not posted yet. */
export interface WantedStatus {
  sha: string;
  state: CommitState;
  /** One line with the counts; cut at 140 characters where the host takes no more. */
  description: string;
  report: CheckRunReport;
}

/** Whether a commit is still the head of something that waits for its status. Throws RepositoryUnavailable. */
export type IsHead = (workspaceId: string, sha: string) => Promise<boolean>;

/** What became of a commit's status. */
export interface StatusPost {
  /** `none`: none is asked for. `skipped`: refused by the host, switched off, or the head moved on. */
  state: "none" | "pending" | "posted" | "skipped" | "failed";
  reason?: string;
}
