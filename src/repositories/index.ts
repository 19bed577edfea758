import { type AppCredentials, createInstallationOctokit } from "./github/octokit.ts";
import { createGitHubReader } from "./github/reader.ts";
import { createLocalReader } from "./local/reader.ts";
import type { RepositoryReader } from "./ports.ts";
export type {
  Annotation,
  CheckRunReport,
  CommitState,
  NewCheckRun,
  NewCommitStatus,
  PullRequest,
  PullRequestHost,
  Refused,
} from "./pull-request-host.ts";

export {
  type AppCredentials,
  createInstallationOctokit,
  type InstallationOctokit,
} from "./github/octokit.ts";
export { createGitHubReader } from "./github/reader.ts";
export { createLocalReader } from "./local/reader.ts";
export { createSampleRepository } from "./local/sample.ts";
export {
  type BlobContent,
  type BlobRequest,
  type RepositoryReader,
  RepositoryUnavailable,
  type TreeEntry,
} from "./ports.ts";

/** Which repository is served, and how it is reached. */
export type RepositoryConfig =
  | { kind: "local"; path: string; branch?: string }
  | { kind: "github"; owner: string; repo: string; branch?: string; app: AppCredentials };

/** The reader for a configured repository. Nothing is read or asked before its first call. */
export function openRepository(config: RepositoryConfig): RepositoryReader {
  switch (config.kind) {
    case "local":
      return createLocalReader(config);
    case "github": {
      const { owner, repo, app } = config;
      return createGitHubReader({
        ...config,
        octokit: () => createInstallationOctokit({ ...app, owner, repo }),
      });
    }
  }
}
