import { z } from "zod";
import type { RepositoryReader } from "../ports.ts";
import type { Refused } from "../pull-request-host.ts";
import {
  findConflict,
  holds,
  type NewCommit,
  type Proposal,
  type RepositoryWriter,
  refuseElsewhere,
  type Written,
} from "../writer.ts";
import { commitTreeAnswer, newCommitAnswer, newTreeAnswer, proposedAnswer, readAnswer } from "./answers.ts";
import { createGitHubApi } from "./api.ts";
import { refusalOf } from "./failures.ts";
import type { Guard } from "./guard.ts";
import { ONCE, type Write } from "./write.ts";

export interface GitHubWriterOptions {
  owner: string;
  repo: string;
  guard: Guard;
  write: Write;
  reader: Pick<RepositoryReader, "head" | "branch" | "tree">;
}

/** Commits and pull requests need a permission each, named as GitHub names it. */
const contents = "contents";
const pullRequests = "pull requests";

/** Heads that a direct change is put onto until somebody else's pushes win. */
const TRIES = 3;

/**
 * Writes through the App's installation, with GitHub's calls for Git data: it makes the commit itself, so the
 * commit is the App's and signed by GitHub, and no working copy is needed.
 */
export function createGitHubWriter(options: GitHubWriterOptions): RepositoryWriter {
  const { owner, repo, guard, write, reader } = options;
  const place = { owner, repo };
  const api = createGitHubApi(owner, repo, guard);
  const read = <S extends z.ZodType>(shape: S, data: unknown) => readAnswer(shape, data, `${owner}/${repo}`);

  /** The pull request of a branch, also one that was merged or closed meanwhile. */
  async function pullOf(branch: string): Promise<Written | undefined> {
    const { data } = await guard((octokit) => {
      const filter = { head: `${owner}:${branch}`, state: "all" as const, per_page: 1 };
      return octokit.request("GET /repos/{owner}/{repo}/pulls", { ...place, ...filter });
    });
    const [found] = read(z.array(proposedAnswer), data);
    return found && { commitSha: found.head.sha, url: found.html_url };
  }

  /** A commit of the files on that head; nothing refers to it yet. */
  async function makeCommit(head: string, { files, message }: NewCommit): Promise<Written | Refused> {
    const { data } = await guard((octokit) =>
      octokit.request("GET /repos/{owner}/{repo}/git/commits/{commit_sha}", { ...place, commit_sha: head }),
    );
    const base_tree = read(commitTreeAnswer, data).tree.sha;
    const mode = "100644" as const;
    const lines = files.map(({ path, text }) => ({ path, mode, type: "blob" as const, content: text }));
    const tree = await write(contents, (octokit) =>
      octokit.request("POST /repos/{owner}/{repo}/git/trees", { ...place, base_tree, tree: lines }),
    );
    if ("refused" in tree) return tree;
    const made = { message, tree: read(newTreeAnswer, tree.done.data).sha, parents: [head] };
    const commit = await write(contents, (octokit) =>
      octokit.request("POST /repos/{owner}/{repo}/git/commits", { ...place, ...made }),
    );
    if ("refused" in commit) return commit;
    const { sha, html_url } = read(newCommitAnswer, commit.done.data);
    return { commitSha: sha, url: html_url };
  }

  /** The head of the served branch, and why the change cannot be put onto it. */
  async function lookAtHead(change: NewCommit) {
    const commitSha = await reader.head();
    const entries = await reader.tree(commitSha);
    const done = holds(entries, change.files);
    const conflict = done ? undefined : await findConflict(reader, change, { commitSha, entries });
    return { commitSha, done, conflict: conflict ?? (await noFolder(commitSha, entries.length)) };
  }

  /** A link or file called `agents` has nothing below it and would be replaced by a folder. */
  async function noFolder(commitSha: string, below: number): Promise<Refused | undefined> {
    if (below > 0) return undefined;
    const root = await api.tree(commitSha, false);
    const line = root?.tree.find(({ path }) => path === "agents");
    if (line === undefined || line.type === "tree") return undefined;
    return { refused: "agents is no folder in the repository; make it one first." };
  }

  /** Points a new branch to a commit; an answer that was lost shows as a branch that is there. */
  async function makeBranch(branch: string, sha: string): Promise<"made" | "there" | Refused> {
    const answer = await write(contents, (octokit) => {
      const sent = { ...place, ref: `refs/heads/${branch}`, sha, request: ONCE };
      return octokit.request("POST /repos/{owner}/{repo}/git/refs", sent).catch(saying(/already exists/i));
    });
    if ("refused" in answer) return answer;
    return answer.done === "said" ? "there" : "made";
  }

  async function branchFor(proposal: Proposal): Promise<{ commitSha: string } | Refused> {
    const { branch, files } = proposal;
    const there = await api.ref(branch, undefined);
    if (there !== undefined) {
      if (holds(await reader.tree(there.commitSha), files)) return there;
      return { refused: `The branch ${branch} is there with other contents; delete it and ask again.` };
    }
    const { commitSha, done, conflict } = await lookAtHead(proposal);
    if (done) return { refused: "The repository has these contents already; there is nothing to propose." };
    if (conflict) return conflict;
    const made = await makeCommit(commitSha, proposal);
    if ("refused" in made) return made;
    const outcome = await makeBranch(branch, made.commitSha);
    if (outcome === "there") return branchFor(proposal);
    return outcome === "made" ? made : outcome;
  }

  async function openPull({ branch, title, body }: Proposal): Promise<Written | Refused> {
    const base = reader.branch() ?? (await api.defaultBranch());
    const answer = await write(pullRequests, (octokit) => {
      const sent = { ...place, head: branch, base, title, body, request: ONCE };
      return octokit
        .request("POST /repos/{owner}/{repo}/pulls", sent)
        .catch(saying(/pull request already exists/i));
    });
    if ("refused" in answer) return answer;
    if (answer.done === "said")
      return (await pullOf(branch)) ?? { refused: `GitHub does not show the pull request of ${branch}.` };
    const { html_url, head } = read(proposedAnswer, answer.done.data);
    return { commitSha: head.sha, url: html_url };
  }

  async function moveBranch(branch: string, sha: string): Promise<"moved" | "behind" | Refused> {
    const answer = await write(contents, (octokit) => {
      const sent = { ...place, ref: `heads/${branch}`, sha, force: false, request: ONCE };
      const route = "PATCH /repos/{owner}/{repo}/git/refs/{ref}";
      return octokit.request(route, sent).catch(saying(/not a fast.forward/i));
    });
    if ("refused" in answer) return answer;
    return answer.done === "said" ? "behind" : "moved";
  }

  return {
    async propose(proposal) {
      const elsewhere = refuseElsewhere(proposal.files);
      if (elsewhere) return elsewhere;
      const known = await pullOf(proposal.branch);
      if (known) return known;
      const branch = await branchFor(proposal);
      return "refused" in branch ? branch : openPull(proposal);
    },
    async commit(change) {
      const elsewhere = refuseElsewhere(change.files);
      if (elsewhere) return elsewhere;
      for (let tries = 1; tries <= TRIES; tries += 1) {
        const { commitSha, done, conflict } = await lookAtHead(change);
        if (done) return { commitSha, url: undefined };
        if (conflict) return conflict;
        const made = await makeCommit(commitSha, change);
        if ("refused" in made) return made;
        const outcome = await moveBranch(reader.branch() ?? (await api.defaultBranch()), made.commitSha);
        if (outcome === "moved") return made;
        if (outcome !== "behind") return outcome;
      }
      return { refused: "The branch moved again and again while the change was made; ask for it later." };
    },
  };
}

/** Takes a refusal in such words for an answer; every other failure goes on. */
function saying(words: RegExp): (error: unknown) => "said" {
  return (error) => {
    if (words.test(refusalOf(error)?.said ?? "")) return "said";
    throw error;
  };
}
