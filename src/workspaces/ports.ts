/** The connected repository as the catalog was last read from it. */
export interface RepositoryFacts {
  /** A directory, or `owner/name` on GitHub. */
  repository: string;
  /** Null while the repository's default branch is not known. */
  branch: string | null;
  commitSha: string | null;
  /** RFC 3339; null before the first sync. */
  syncedAt: string | null;
  /** The newest attempt to read it failed. */
  stale: boolean;
  error?: string;
}

/** Known to the catalog, a higher feature. */
export type DescribeRepository = (workspaceId: string) => Promise<RepositoryFacts>;
