/** What Rollcall needs of a repository that holds agents, whoever keeps it. */

export interface TreeEntry {
  /** Path from the root of the repository, always below `agents/`, with `/` between its parts. */
  path: string;
  /** Git's id of the content: two entries with one id hold the same bytes. */
  blobSha: string;
  kind: "file" | "symlink" | "submodule";
  /** Bytes; null where the repository does not tell before the content is read. */
  size: number | null;
}

/** Content of one blob: its bytes, or the reason why they were not read. */
export type BlobContent = { bytes: Uint8Array } | { tooLarge: true };

export interface BlobRequest {
  path: string;
  blobSha: string;
  /** Bytes, where a listing told them: what is too large is then not fetched, and the rest in fewer calls. */
  size?: number | null;
}

export interface RepositoryReader {
  /** How the repository is shown to people: a path or `owner/name`. */
  readonly label: string;
  /** The branch that is served, resolved on the first successful `head()`. */
  branch(): string | undefined;
  /** Has the next `head()` ask again which branch is the default one, because it may be another now. */
  forget(): void;
  /**
   * Commit at the head of the served branch. Cheap when nothing has changed (conditional request, or a
   * look at the ref). Throws RepositoryUnavailable.
   */
  head(): Promise<string>;
  /** Every entry below `agents/` at that commit, sorted by path; empty when there is no such folder. */
  tree(commitSha: string): Promise<TreeEntry[]>;
  /**
   * Contents by blob id. Either every requested id is answered or RepositoryUnavailable is thrown: a
   * half-read repository is an unreadable one. Content over `maxBytes` is answered `{tooLarge: true}`.
   */
  blobs(requests: readonly BlobRequest[], maxBytes: number): Promise<Map<string, BlobContent>>;
  /** One file of any folder at a commit, or undefined when it is absent, no regular file, or over `maxBytes`. */
  file(commitSha: string, path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Milliseconds between two looks at `head()` when nothing else reports a change. */
  readonly pollInterval: number;
  close(): Promise<void>;
}

/** The repository could not be read, or not wholly. The catalog keeps what it had and shows this text. */
export class RepositoryUnavailable extends Error {
  readonly reason: "unreachable" | "not_found" | "forbidden" | "rate_limited" | "incomplete";
  /** Earliest useful time for another try, epoch milliseconds, when the repository's host said so. */
  readonly retryAt: number | undefined;

  constructor(
    message: string,
    reason: RepositoryUnavailable["reason"],
    retryAt?: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "RepositoryUnavailable";
    this.reason = reason;
    this.retryAt = retryAt;
  }
}
