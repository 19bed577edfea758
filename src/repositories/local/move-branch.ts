import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../platform/errors.ts";
import { type GitDirectory, readText } from "./git-directory.ts";
import { removeDeadLock, takeLock } from "./lock-file.ts";
import { isBranchName, type RefReader } from "./refs.ts";

/**
 * `changed`: the branch is not where it was expected. `locked`: another Git process keeps it for longer than a
 * moment. `blocked`: a branch of another name is in the way of this one.
 */
export type Moved = "moved" | "changed" | "locked" | "blocked";

/**
 * Moves a branch from one commit to another, or makes it (`from` undefined), as Git itself does: with a lock file
 * beside the ref, which other Git processes respect, and only if it still is where it was. Packed refs are looked at
 * under the lock too.
 */
export async function moveBranch(
  directory: GitDirectory,
  refs: RefReader,
  { branch, from, to }: { branch: string; from: string | undefined; to: string },
): Promise<Moved> {
  if (!isBranchName(branch)) return "blocked";
  const path = fileOf(directory, branch);
  if (await isBelowBranch(directory, refs, branch)) return "blocked";
  const lock = await takeLock({ ...lockOf(directory, branch), prepare: () => makeFolder(path) }).catch(
    (error) => {
      // A branch has the name of a folder that this one needs.
      if (["ENOTDIR", "EEXIST"].includes(errorCode(error))) return "blocked" as const;
      throw error;
    },
  );
  if (lock === undefined) return "locked";
  if (lock === "blocked") return lock;
  try {
    if ((await refs.branch(directory, branch)) !== from || (await isSymbolic(path))) return "changed";
    await lock.publish(path, `${to}\n`);
    return "moved";
  } catch (error) {
    // A folder of branches has the name that this one was to get.
    if (["EISDIR", "ENOTEMPTY", "EEXIST"].includes(errorCode(error))) return "blocked";
    throw error;
  } finally {
    await lock.release();
  }
}

/** Removes the lock that a process left on the branch when it died after it had moved it. */
export async function unlockBranch(directory: GitDirectory, branch: string): Promise<void> {
  if (isBranchName(branch)) await removeDeadLock(lockOf(directory, branch));
}

const fileOf = ({ commonDir }: GitDirectory, branch: string) =>
  join(commonDir, "refs", "heads", ...branch.split("/"));

const lockOf = (directory: GitDirectory, branch: string) => ({
  path: `${fileOf(directory, branch)}.lock`,
  drafts: directory.commonDir,
});

const makeFolder = (path: string) => mkdir(dirname(path), { recursive: true });

async function isBelowBranch(directory: GitDirectory, refs: RefReader, branch: string): Promise<boolean> {
  const parts = branch.split("/");
  for (let count = 1; count < parts.length; count += 1) {
    if ((await refs.branch(directory, parts.slice(0, count).join("/"))) !== undefined) return true;
  }
  return false;
}

const isSymbolic = async (path: string) => (await readText(path))?.startsWith("ref:") ?? false;
