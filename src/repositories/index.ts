import { createGuard } from "./github/guard.ts";
import { createGitHubHost } from "./github/host.ts";
import { type AppCredentials, createInstallationOctokit } from "./github/octokit.ts";
import { createGitHubReader } from "./github/reader.ts";
import { createLocalReader } from "./local/reader.ts";
import type { RepositoryReader } from "./ports.ts";
import type { PullRequestHost } from "./pull-request-host.ts";

export type { AppCredentials } from "./github/octokit.ts";
export { createLocalReader } from "./local/reader.ts";
export { createSampleRepository } from "./local/sample.ts";
export {
  type BlobContent,
  type BlobRequest,
  type RepositoryReader,
  RepositoryUnavailable,
  type TreeEntry,
} from "./ports.ts";
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

/** Which repository is served, and how it is reached. */
export type RepositoryConfig =
  | { kind: "local"; path: string; branch?: string }
  | { kind: "github"; owner: string; repo: string; branch?: string; app: AppCredentials };

/** The repository of a workspace, and the place where its pull requests are made, if there is one. */
export interface Repository {
  reader: RepositoryReader;
  host: PullRequestHost | undefined;
}

/** Opens a configured repository. Nothing is read or asked before the first call. */
export function openRepository(config: RepositoryConfig): Repository {
  switch (config.kind) {
    case "local":
      return { reader: createLocalReader(config), host: undefined };
    case "github": {
      const { owner, repo, app } = config;
      const connect = () => createInstallationOctokit({ ...app, owner, repo });
      // One guard: a limit that writing runs into holds for reading as well.
      const guard = createGuard(`${owner}/${repo}`, connect);
      return { reader: createGitHubReader({ ...config, guard }), host: createGitHubHost(owner, repo, guard) };
    }
  }
}
