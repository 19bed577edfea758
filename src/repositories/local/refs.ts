import { stat } from "node:fs/promises";
import { join } from "node:path";
import { RepositoryUnavailable } from "../ports.ts";
import { type GitDirectory, readText } from "./git-directory.ts";

/** Where a branch stands; `branch` is undefined while HEAD is detached. */
export interface Head {
  branch: string | undefined;
  commitSha: string;
}

export interface RefReader {
  /**
   * Commit of a branch, or of HEAD when no branch is given. Throws RepositoryUnavailable when the branch
   * does not exist or has no commit yet.
   */
  head(directory: GitDirectory, branch: string | undefined): Promise<Head>;
  /** Commit of a branch; undefined when there is none of that name. */
  branch(directory: GitDirectory, name: string): Promise<string | undefined>;
}

const BRANCHES = "refs/heads/";
/** As many symbolic refs as Git follows. */
const SYMBOLIC_DEPTH = 5;

/**
 * Reads refs as Git writes them: a loose file first, then `packed-refs`. A branch is looked up by its whole
 * name below `refs/heads/`, so that no tag or remote branch of the same name is ever taken for it. The
 * packed refs, thousands of lines in an old repository, are read again only after they have changed.
 */
export function createRefReader(label: string): RefReader {
  const packed = createPackedRefs();

  async function resolveRef(directory: GitDirectory, ref: string): Promise<string | undefined> {
    let name = ref;
    for (let depth = 0; depth < SYMBOLIC_DEPTH; depth++) {
      const text = (await readText(join(directory.commonDir, name)))?.trim();
      if (text === undefined) return await packed(directory.commonDir, name);
      const target = symbolicTarget(text);
      if (target === undefined) return commitIn(text, label, name);
      name = target;
    }
    return undefined;
  }

  return {
    branch: async (directory, name) =>
      isBranchName(name) ? await resolveRef(directory, BRANCHES + name) : undefined,
    async head(directory, branch) {
      if (branch !== undefined) {
        const commitSha = isBranchName(branch) ? await resolveRef(directory, BRANCHES + branch) : undefined;
        if (commitSha === undefined) throw unknownBranch(label, branch);
        return { branch, commitSha };
      }
      const text = ((await readText(join(directory.gitDir, "HEAD"))) ?? "").trim();
      const ref = symbolicTarget(text);
      if (ref === undefined) return { branch: undefined, commitSha: commitIn(text, label, "HEAD") };
      const commitSha = await resolveRef(directory, ref);
      if (commitSha === undefined) throw noCommit(label, ref);
      return { branch: ref.startsWith(BRANCHES) ? ref.slice(BRANCHES.length) : ref, commitSha };
    },
  };
}

function createPackedRefs() {
  let seen: { stamp: string; refs: Map<string, string> } | undefined;

  return async (commonDir: string, name: string): Promise<string | undefined> => {
    const file = join(commonDir, "packed-refs");
    const state = await stat(file, { bigint: true }).catch(() => undefined);
    if (state === undefined) return undefined;
    const stamp = `${file} ${state.ino} ${state.size} ${state.mtimeNs}`;
    if (seen?.stamp !== stamp) {
      const text = (await readText(file)) ?? "";
      const lines = text.matchAll(/^([0-9a-f]{40}) (.+)$/gm);
      seen = { stamp, refs: new Map(Array.from(lines, ([, id = "", ref = ""]) => [ref, id])) };
    }
    return seen.refs.get(name);
  };
}

/** The ref that a symbolic ref names. Nothing outside `refs/` is followed. */
function symbolicTarget(text: string): string | undefined {
  const target = /^ref: *(refs\/\S+)$/.exec(text)?.[1];
  return target !== undefined && isBranchName(target) ? target : undefined;
}

function commitIn(text: string, label: string, ref: string): string {
  if (/^[0-9a-f]{40}$/.test(text)) return text;
  throw new RepositoryUnavailable(
    `${ref} of the repository at ${label} is damaged: run "git fsck" there.`,
    "incomplete",
  );
}

/** Git's own rules, as far as they keep a name from leaving its folder. */
export const isBranchName = (name: string) =>
  name !== "" && !/[\0-\x20~^:?*[\\\x7f]|\.\.|\/\/|^\/|\/$|(^|\/)\.|\.lock(\/|$)/.test(name);

const unknownBranch = (label: string, branch: string) =>
  new RepositoryUnavailable(
    `The repository at ${label} has no branch "${branch}": create it, or choose another branch.`,
    "not_found",
  );

const noCommit = (label: string, ref: string) =>
  new RepositoryUnavailable(
    `The repository at ${label} has no commit on ${ref.replace(BRANCHES, "")} yet: commit something there.`,
    "not_found",
  );
