import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type GitDirectory, readText } from "./git-directory.ts";

/** A working tree that shows a branch. */
export interface WorkingTree extends GitDirectory {
  /** Its top folder; undefined when that is in no usual place. */
  root: string | undefined;
  /** What Git is in the middle of there, such as "a merge". */
  busy: string | undefined;
}

const underWay = [
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
  ["sequencer", "a cherry-pick"],
] as const;

/**
 * The working trees that show a branch, or are in the middle of a rebase of it: moving it would make their files look
 * changed. `path` is where the repository was found.
 */
export async function workingTreesOf(
  { commonDir }: GitDirectory,
  branch: string,
  path: string,
): Promise<WorkingTree[]> {
  const config = (await readText(join(commonDir, "config"))) ?? "";
  const isBare = /^\s*bare\s*=\s*"?true/im.test(config);
  const linked = await readdir(join(commonDir, "worktrees")).catch(() => []);
  const gitDirs = [
    ...(isBare ? [] : [commonDir]),
    ...linked.map((name) => join(commonDir, "worktrees", name)),
  ];
  const trees = gitDirs.map(async (gitDir): Promise<WorkingTree[]> => {
    if (!(await shows(gitDir, `refs/heads/${branch}`))) return [];
    const moved = /^\s*worktree\s*=/im.test(config);
    const root = gitDir === commonDir ? mainRoot(commonDir, path, moved) : linkedRoot(gitDir);
    return [{ gitDir, commonDir, root: await root, busy: await busyWith(gitDir) }];
  });
  return (await Promise.all(trees)).flat();
}

async function shows(gitDir: string, ref: string): Promise<boolean> {
  const read = (name: string) => readText(join(gitDir, name));
  if ((await read("HEAD"))?.trim() === `ref: ${ref}`) return true;
  const rebased = await Promise.all(["rebase-merge/head-name", "rebase-apply/head-name"].map(read));
  return rebased.some((text) => text?.trim() === ref);
}

async function busyWith(gitDir: string): Promise<string | undefined> {
  const found = await Promise.all(
    underWay.map(async ([name, what]) => ((await isThere(join(gitDir, name))) ? [what] : [])),
  );
  return found.flat()[0];
}

async function mainRoot(commonDir: string, path: string, moved: boolean): Promise<string | undefined> {
  if (moved) return undefined;
  if (basename(commonDir) === ".git") return dirname(commonDir);
  const link = await readText(join(resolve(path), ".git"));
  return link === undefined ? undefined : resolve(path);
}

async function linkedRoot(gitDir: string): Promise<string | undefined> {
  const link = (await readText(join(gitDir, "gitdir")))?.trim();
  if (!link) return undefined;
  const file = resolve(gitDir, link);
  return (await isThere(file)) ? dirname(file) : undefined;
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
