import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type GitDirectory, readText } from "./git-directory.ts";
import { isBranchName, type RefReader } from "./refs.ts";

/**
 * `changed`: the branch is not where it was expected. `locked`: another Git process keeps it for longer than a
 * moment. `blocked`: a branch of another name is in the way of this one.
 */
export type Moved = "moved" | "changed" | "locked" | "blocked";

const LOCK_TRIES = 20;
const LOCK_WAIT = 50;

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
  const path = join(directory.commonDir, "refs", "heads", ...branch.split("/"));
  if (await isBelowBranch(directory, refs, branch)) return "blocked";
  const lock = await takeLock(path);
  if (typeof lock === "string") return lock;
  let renamed = false;
  try {
    if ((await refs.branch(directory, branch)) !== from || (await isSymbolic(path))) return "changed";
    await lock.writeFile(`${to}\n`);
    await lock.sync();
    await lock.close();
    await rename(`${path}.lock`, path);
    renamed = true;
    return "moved";
  } catch (error) {
    // A folder of branches has the name that this one was to get.
    if (["EISDIR", "ENOTEMPTY", "EEXIST"].includes(codeOf(error))) return "blocked";
    throw error;
  } finally {
    await lock.close().catch(() => {});
    if (!renamed) await rm(`${path}.lock`, { force: true });
  }
}

/** Whether a working tree shows the branch: moving it would make all of that tree's files look changed. */
export async function isCheckedOut({ commonDir }: GitDirectory, branch: string): Promise<boolean> {
  const config = (await readText(join(commonDir, "config"))) ?? "";
  const isBare = /^\s*bare\s*=\s*"?true/im.test(config);
  const linked = await readdir(join(commonDir, "worktrees")).catch(() => []);
  const heads = [
    ...(isBare ? [] : [join(commonDir, "HEAD")]),
    ...linked.map((name) => join(commonDir, "worktrees", name, "HEAD")),
  ];
  const texts = await Promise.all(heads.map(readText));
  return texts.some((text) => text?.trim() === `ref: refs/heads/${branch}`);
}

async function isBelowBranch(directory: GitDirectory, refs: RefReader, branch: string): Promise<boolean> {
  const parts = branch.split("/");
  for (let count = 1; count < parts.length; count += 1) {
    if ((await refs.branch(directory, parts.slice(0, count).join("/"))) !== undefined) return true;
  }
  return false;
}

const isSymbolic = async (path: string) => (await readText(path))?.startsWith("ref:") ?? false;

async function takeLock(path: string) {
  for (let tries = 1; ; tries += 1) {
    try {
      // Git removes folders that it has emptied, also in between.
      await mkdir(dirname(path), { recursive: true });
      return await open(`${path}.lock`, "wx");
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOTDIR") return "blocked";
      if (code !== "EEXIST" && code !== "ENOENT") throw error;
      if (tries === LOCK_TRIES) return "locked";
      await sleep(LOCK_WAIT);
    }
  }
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "");
