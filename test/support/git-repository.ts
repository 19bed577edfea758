import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import git from "isomorphic-git";

/** Content of one path of a commit. */
export type TestFile = string | Uint8Array | { symlink: string } | { submodule: string };

/** A bare Git repository in a temporary directory that a test fills commit by commit. */
export interface TestRepository {
  gitdir: string;
  /**
   * Commits exactly these files (no others) to a branch, `main` unless told, and answers the commit's id. It has no parents
   * unless they are given.
   */
  commit(
    files: Readonly<Record<string, TestFile>>,
    branch?: string,
    parents?: readonly string[],
  ): Promise<string>;
  /** Points any ref, by its whole name, to a commit. */
  setRef(ref: string, commitSha: string): Promise<void>;
  deleteRef(ref: string): Promise<void>;
  /** Makes HEAD name another branch. */
  checkOut(branch: string): Promise<void>;
  remove(): Promise<void>;
}

const AUTHOR = { name: "Test", email: "test@example.com", timestamp: 1_750_000_000, timezoneOffset: 0 };

export async function createTestRepository(): Promise<TestRepository> {
  const gitdir = await mkdtemp(join(tmpdir(), "rollcall-repository-"));
  await git.init({ fs, gitdir, bare: true, defaultBranch: "main" });
  const setRef = (ref: string, value: string) => git.writeRef({ fs, gitdir, ref, value, force: true });
  let count = 0;

  return {
    gitdir,
    setRef,
    deleteRef: (ref) => git.deleteRef({ fs, gitdir, ref }),
    checkOut: (branch) =>
      git.writeRef({ fs, gitdir, ref: "HEAD", value: `refs/heads/${branch}`, symbolic: true, force: true }),
    remove: () => rm(gitdir, { recursive: true, force: true }),
    async commit(files, branch = "main", parents = []) {
      const tree = await writeFolder(gitdir, Object.entries(files));
      count += 1;
      const message = `commit ${count}\n`;
      const commit = { tree, parent: [...parents], author: AUTHOR, committer: AUTHOR, message };
      const sha = await git.writeCommit({ fs, gitdir, commit });
      await setRef(`refs/heads/${branch}`, sha);
      return sha;
    },
  };
}

async function writeFolder(gitdir: string, files: [string, TestFile][]): Promise<string> {
  const folders = new Map<string, [string, TestFile][]>();
  const tree = [];
  for (const [path, file] of files) {
    const cut = path.indexOf("/");
    if (cut === -1) {
      tree.push({ path, ...(await writeFile(gitdir, file)) });
      continue;
    }
    const name = path.slice(0, cut);
    folders.set(name, [...(folders.get(name) ?? []), [path.slice(cut + 1), file]]);
  }
  for (const [path, below] of folders) {
    const oid = await writeFolder(gitdir, below);
    tree.push({ path, mode: "040000", oid, type: "tree" as const });
  }
  return git.writeTree({ fs, gitdir, tree });
}

async function writeFile(gitdir: string, file: TestFile) {
  if (typeof file === "object" && "submodule" in file) {
    return { mode: "160000", oid: file.submodule, type: "commit" as const };
  }
  const link = typeof file === "object" && "symlink" in file;
  const content = link ? file.symlink : file;
  const blob = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const oid = await git.writeBlob({ fs, gitdir, blob });
  return { mode: link ? "120000" : "100644", oid, type: "blob" as const };
}
