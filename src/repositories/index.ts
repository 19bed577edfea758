import { createGitHubApi } from "./github/api.ts";
import { createGuard } from "./github/guard.ts";
import { createGitHubHost } from "./github/host.ts";
import { type AppCredentials, createInstallationOctokit } from "./github/octokit.ts";
import { createGitHubReader } from "./github/reader.ts";
import { createWrite } from "./github/write.ts";
import { createGitHubWriter } from "./github/writer.ts";
import { createLocalReader } from "./local/reader.ts";
import { createLocalWriter } from "./local/writer.ts";
import type { RepositoryReader } from "./ports.ts";
import type { PullRequestHost } from "./pull-request-host.ts";
import type { RepositoryWriter } from "./writer.ts";

export type { AppCredentials } from "./github/octokit.ts";
export { createLocalReader } from "./local/reader.ts";
export { createSampleRepository } from "./local/sample.ts";
export { type BlobContent, type RepositoryReader, RepositoryUnavailable, type TreeEntry } from "./ports.ts";
export type {
  Annotation,
  CheckRunReport,
  CommitState,
  NewCheckRun,
  NewCommitStatus,
  PullRequest,
  PullRequestHost,
} from "./pull-request-host.ts";
export type { RepositoryWriter } from "./writer.ts";

/** Which repository is served, and how it is reached. */
export type RepositoryConfig =
  | { kind: "local"; path: string; branch?: string }
  | { kind: "github"; owner: string; repo: string; branch?: string; app: AppCredentials };

/** The repository of a workspace, and the place where its pull requests are made, if there is one. */
export interface Repository {
  reader: RepositoryReader;
  writer: RepositoryWriter;
  host: PullRequestHost | undefined;
}

/** Opens a configured repository. Nothing is read or asked before the first call. */
export function openRepository(config: RepositoryConfig): Repository {
  switch (config.kind) {
    case "local": {
      const reader = createLocalReader(config);
      return { reader, writer: createLocalWriter({ path: config.path, reader }), host: undefined };
    }
    case "github": {
      const { owner, repo, app } = config;
      const connect = () => createInstallationOctokit({ ...app, owner, repo });
      // One guard: a limit that writing runs into holds for reading as well.
      const guard = createGuard(`${owner}/${repo}`, connect);
      const reader = createGitHubReader({ ...config, guard });
      const write = createWrite(createGitHubApi(owner, repo, guard), guard);
      const writer = createGitHubWriter({ owner, repo, guard, write, reader });
      return { reader, writer, host: createGitHubHost(owner, repo, guard, write) };
    }
  }
}
