import type { z } from "zod";
import {
  type BlobNode,
  blobAnswer,
  blobBatchAnswer,
  commitAnswer,
  readAnswer,
  refAnswer,
  repositoryAnswer,
  type TreeAnswer,
  treeAnswer,
} from "./answers.ts";
import { isInstallationGone, statusOf } from "./failures.ts";
import type { Guard } from "./guard.ts";

/** A ref as it was last seen; `etag` makes the next look free of charge. */
export interface SeenRef {
  branch: string;
  commitSha: string;
  etag: string | undefined;
}

/** The calls that reading needs, each with its answer checked. All throw RepositoryUnavailable only. */
export interface GitHubApi {
  defaultBranch(): Promise<string>;
  /** Undefined when there is no branch of exactly that name. */
  ref(branch: string, seen: SeenRef | undefined): Promise<SeenRef | undefined>;
  /** `treeish` is a tree id or `commit:path`. Undefined when it leads to no folder. */
  tree(treeish: string, recursive: boolean): Promise<TreeAnswer | undefined>;
  hasCommit(sha: string): Promise<boolean>;
  /** Bytes of one blob with the size that GitHub states; undefined when it has no such blob. */
  blob(sha: string): Promise<{ bytes: Uint8Array; size: number } | undefined>;
  /** Text of several blobs in one call, in the order asked for; null for what GitHub does not have. */
  texts(shas: readonly string[]): Promise<BlobNode[]>;
}

export function createGitHubApi(owner: string, repo: string, guard: Guard): GitHubApi {
  const place = { owner, repo };
  const read = <S extends z.ZodType>(shape: S, data: unknown) => readAnswer(shape, data, `${owner}/${repo}`);

  return {
    async defaultBranch() {
      const { data } = await guard((octokit) => octokit.request("GET /repos/{owner}/{repo}", place));
      return read(repositoryAnswer, data).default_branch;
    },

    async ref(branch, seen) {
      const known = seen?.branch === branch && seen.etag !== undefined ? seen : undefined;
      const answer = await guard((octokit) => {
        const headers = known?.etag === undefined ? {} : { "if-none-match": known.etag };
        const route = "GET /repos/{owner}/{repo}/git/ref/{ref}";
        const sent = octokit.request(route, { ...place, ref: `heads/${branch}`, headers });
        return sent.catch(unless(304, 404));
      });
      if (answer === 304) return known;
      if (answer === 404) return undefined;
      const { ref, object } = read(refAnswer, answer.data);
      if (ref !== `refs/heads/${branch}`) return undefined;
      return { branch, commitSha: object.sha, etag: answer.headers.etag };
    },

    async tree(treeish, recursive) {
      const answer = await guard((octokit) => {
        const route = "GET /repos/{owner}/{repo}/git/trees/{tree_sha}";
        const depth = recursive ? { recursive: "1" } : {};
        // 422 is the answer for a path that leads to a file.
        return octokit.request(route, { ...place, tree_sha: treeish, ...depth }).catch(unless(404, 422));
      });
      return typeof answer === "number" ? undefined : read(treeAnswer, answer.data);
    },

    async hasCommit(sha) {
      const answer = await guard((octokit) => {
        const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
        return octokit.request(route, { ...place, commit_sha: sha }).catch(unless(404, 422));
      });
      return typeof answer !== "number" && read(commitAnswer, answer.data).sha === sha;
    },

    async blob(sha) {
      const answer = await guard((octokit) => {
        const route = "GET /repos/{owner}/{repo}/git/blobs/{file_sha}";
        return octokit.request(route, { ...place, file_sha: sha }).catch(unless(404));
      });
      if (answer === 404) return undefined;
      const { content, size } = read(blobAnswer, answer.data);
      return { bytes: Buffer.from(content, "base64"), size };
    },

    async texts(shas) {
      const query = textsQuery(shas);
      const data = await guard((octokit) => octokit.graphql<unknown>(query, place));
      const { repository } = read(blobBatchAnswer, data);
      return shas.map((_, index) => repository[`o${index}`] ?? null);
    },
  };
}

/** Turns the named statuses into plain answers; every other failure goes on. */
export function unless<S extends number>(...expected: S[]): (error: unknown) => S {
  return (error) => {
    const status = expected.find((candidate) => candidate === statusOf(error));
    if (status === undefined || isInstallationGone(error)) throw error;
    return status;
  };
}

function textsQuery(shas: readonly string[]): string {
  const objects = shas.map((sha, index) => `o${index}: object(oid: ${JSON.stringify(sha)}) { ...blob }`);
  return `query ($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) { ${objects.join(" ")} }
}
fragment blob on Blob { byteSize isBinary isTruncated text }`;
}
