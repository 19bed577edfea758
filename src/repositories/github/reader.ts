import { isFilePath } from "../paths.ts";
import { type BlobRequest, type RepositoryReader, RepositoryUnavailable } from "../ports.ts";
import { createGitHubApi, type SeenRef } from "./api.ts";
import { fetchBlobs } from "./blobs.ts";
import type { Guard } from "./guard.ts";
import { listFolder } from "./tree.ts";

export interface GitHubReaderOptions {
  owner: string;
  repo: string;
  /** The branch that is served; without it the default branch, also after a rename. */
  branch?: string;
  guard: Guard;
}

/** Pushes are reported by webhook; this only finds what a lost one did not tell. */
const POLL_INTERVAL = 60_000;
/** Below the interval: every process's own look finds another default branch, whichever was told of the change. */
const BRANCH_HOLDS = 50_000;
const REGULAR_FILE = /^100/;

/** Reads a repository on GitHub as an installation of the App. Holds one ETag. */
export function createGitHubReader(options: GitHubReaderOptions): RepositoryReader {
  const { owner, repo, branch } = options;
  const label = `${owner}/${repo}`;
  const api = createGitHubApi(owner, repo, options.guard);
  let served = branch;
  let askBranchAt = 0;
  let seen: SeenRef | undefined;

  async function nameOfBranch(): Promise<string> {
    const known = branch ?? (performance.now() < askBranchAt ? served : undefined);
    if (known !== undefined) return known;
    const name = await api.defaultBranch();
    askBranchAt = performance.now() + BRANCH_HOLDS;
    return name;
  }

  /** A branch that is gone may have been renamed, and then GitHub knows another default branch. */
  async function findRef(): Promise<SeenRef> {
    const name = await nameOfBranch();
    const ref = await api.ref(name, seen);
    if (ref !== undefined) return ref;
    // Also tells a missing branch from a repository that is gone.
    const current = await api.defaultBranch();
    const renamed = branch === undefined && current !== name ? await api.ref(current, undefined) : undefined;
    if (renamed !== undefined) return renamed;
    const message = `${label} has no branch "${branch ?? current}": push it, or choose another branch.`;
    throw new RepositoryUnavailable(message, "not_found");
  }

  async function readBlobs(requests: readonly Pick<BlobRequest, "blobSha" | "size">[], maxBytes: number) {
    const sizes = new Map(requests.map(({ blobSha, size }) => [blobSha, size ?? undefined]));
    return fetchBlobs(api, [...sizes.keys()], { label, maxBytes, sizes });
  }

  async function readFile(commitSha: string, path: string, maxBytes: number) {
    if (!isFilePath(path)) return undefined;
    const cut = path.lastIndexOf("/");
    const folder = await api.tree(cut === -1 ? commitSha : `${commitSha}:${path.slice(0, cut)}`, false);
    const item = folder?.tree.find((candidate) => candidate.path === path.slice(cut + 1));
    if (item === undefined) {
      if (folder?.truncated || !(await api.hasCommit(commitSha))) throw unlisted(label, commitSha);
      return undefined;
    }
    if (item.type !== "blob" || !REGULAR_FILE.test(item.mode)) return undefined;
    if (item.size !== undefined && item.size > maxBytes) return undefined;
    const content = (await readBlobs([{ blobSha: item.sha }], maxBytes)).get(item.sha);
    return content !== undefined && "bytes" in content ? content.bytes : undefined;
  }

  return {
    label,
    pollInterval: POLL_INTERVAL,
    branch: () => served,
    forget() {
      askBranchAt = 0;
    },
    async head() {
      seen = await findRef();
      served = seen.branch;
      return seen.commitSha;
    },
    tree: (commitSha) => listFolder(api, label, commitSha, "agents"),
    blobs: readBlobs,
    file: (commitSha, path, maxBytes) => readFile(commitSha, path, maxBytes),
    async close() {},
  };
}

const unlisted = (label: string, sha: string) =>
  new RepositoryUnavailable(
    `GitHub did not list commit ${sha} of ${label}: it is asked again.`,
    "incomplete",
  );
