/** What Rollcall needs of the place where pull requests are made. A local repository has none. */

/** A pull request as its host knows it at the moment of the call. */
export interface PullRequest {
  number: number;
  /** Neither merged nor closed. */
  open: boolean;
  merged: boolean;
  draft: boolean;
  headSha: string;
  /** Branch that it is to be merged into. */
  baseRef: string;
  /** Head of that branch, as far as the host looked last. */
  baseSha: string;
  /** The author's login; empty for an account that is gone. */
  author: string;
  /**
   * The author may write to the repository or belongs to its organization: anybody else could have chosen a member's login
   * for an account.
   */
  authorBelongs: boolean;
  /** Its commits come from another repository, also from one that is gone. */
  fork: boolean;
}

export type CommitState = "pending" | "success" | "failure" | "error";

export interface NewCommitStatus {
  sha: string;
  context: string;
  state: CommitState;
  /** At most 140 characters; the ones that the host cannot show are replaced. */
  description: string;
  targetUrl: string | undefined;
}

/** A remark at a line of a file. */
export interface Annotation {
  path: string;
  line: number;
  message: string;
  title: string;
}

export interface CheckRunReport {
  /** One line. */
  title: string;
  /** Markdown, not empty; what is over 65,535 bytes is cut off. */
  summary: string;
  /** As many as there are. The host adds them to those that the check run has, and removes none. */
  annotations: readonly Annotation[];
}

export interface NewCheckRun {
  sha: string;
  name: string;
  /** `pending` is a check that is under way. */
  state: CommitState;
  detailsUrl: string | undefined;
  report: CheckRunReport;
  /**
   * The check run to change; undefined makes a new one, which is shown in the place of an older one of its name. One that was
   * completed keeps its annotations, so that doing the check again needs a new one.
   */
  id: number | undefined;
}

/** The host understood and will not do it, now or later: no permission, or a commit that it does not know. */
export interface Refused {
  /** A sentence that says what to do. */
  refused: string;
}

/**
 * Every method throws RepositoryUnavailable when the host cannot be asked now: `retryAt` tells when to try again,
 * if the host said so. A write that was thrown out of may have been done; doing it again shows nothing twice, but for
 * annotations of a check run that is changed.
 */
export interface PullRequestHost {
  /** Undefined when there is none of that number. */
  pullRequest(number: number): Promise<PullRequest | undefined>;
  /** The newest commit that both have; undefined when they have none in common or one is unknown. */
  mergeBase(baseSha: string, headSha: string): Promise<string | undefined>;
  /** Commit that a branch points to; `branch` without refs/heads/. Undefined when there is none of that name. */
  branchHead(branch: string): Promise<string | undefined>;
  postStatus(status: NewCommitStatus): Promise<{ posted: true } | Refused>;
  postCheckRun(run: NewCheckRun): Promise<{ id: number } | Refused>;
}
