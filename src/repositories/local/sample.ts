import fs from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { RepositoryUnavailable } from "../ports.ts";
import { locateGitDirectory } from "./git-directory.ts";

const AUTHOR = { name: "Rollcall", email: "rollcall@localhost" };

/**
 * Makes a Git repository at `targetDir` with the files of `sourceDir` as the first commit of `main`, and
 * answers true. An existing repository is left as it is (false). The repository appears whole or not at
 * all: it is built beside its place and moved there. Throws when something else is in that place.
 */
export async function createSampleRepository(targetDir: string, sourceDir: string): Promise<boolean> {
  if (await holdsRepository(targetDir)) return false;
  await mkdir(dirname(targetDir), { recursive: true });
  const draft = await mkdtemp(`${targetDir}.partial-`);
  try {
    await cp(sourceDir, draft, { recursive: true });
    await commitEverything(draft);
    await removeIfEmpty(targetDir);
    await rename(draft, targetDir);
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process that started at the same time may have been first.
    if (await holdsRepository(targetDir)) return false;
    throw error;
  }
}

async function holdsRepository(path: string): Promise<boolean> {
  try {
    await locateGitDirectory(path);
    return true;
  } catch (error) {
    if (error instanceof RepositoryUnavailable) return error.reason !== "not_found";
    throw error;
  }
}

/** Loaded only here: a start that finds its repository does not need the library. */
async function commitEverything(dir: string): Promise<void> {
  const git = await import("isomorphic-git");
  await git.init({ fs, dir, defaultBranch: "main" });
  await git.add({ fs, dir, filepath: "." });
  await git.commit({ fs, dir, message: "Add sample agents", author: AUTHOR });
}

async function removeIfEmpty(path: string): Promise<void> {
  const names = await readdir(path).catch(() => undefined);
  if (names === undefined) return;
  if (names.length > 0) {
    throw new Error(
      `${path} holds files but no Git repository: move them away, or commit them to a repository there.`,
    );
  }
  await rmdir(path);
}
