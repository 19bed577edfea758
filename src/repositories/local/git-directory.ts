import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { RepositoryUnavailable } from "../ports.ts";

/** Where the parts of one repository are on disk, all absolute. */
export interface GitDirectory {
  /** Holds HEAD; of its own for each linked work tree. */
  gitDir: string;
  /** Holds refs and objects; the same as `gitDir` unless this is a linked work tree. */
  commonDir: string;
}

/** Alternates may have alternates; Git itself follows five. */
const ALTERNATE_DEPTH = 5;

/**
 * Finds the repository at a path: a work tree, a bare repository, a `.git` directory, or a work tree whose
 * `.git` is a file (linked work trees and submodules). Throws RepositoryUnavailable when there is none, or
 * one in a format that cannot be read here.
 */
export async function locateGitDirectory(path: string): Promise<GitDirectory> {
  const gitDir = await findGitDir(resolve(path));
  if (gitDir === undefined) {
    throw new RepositoryUnavailable(
      `There is no Git repository at ${path}: point to its root folder, or run "git init" and commit there.`,
      "not_found",
    );
  }
  const common = (await readText(join(gitDir, "commondir")))?.trim();
  const commonDir = common ? resolve(gitDir, common) : gitDir;
  await refuseUnreadable(path, commonDir);
  return { gitDir, commonDir };
}

/** The repository's `objects` directory and those of the repositories it borrows from, nearest first. */
export async function objectDirectories(commonDir: string): Promise<string[]> {
  const found = new Set([join(commonDir, "objects")]);
  let level = [...found];
  for (let depth = 0; depth < ALTERNATE_DEPTH && level.length > 0; depth++) {
    const texts = await Promise.all(level.map(async (from) => ({ from, text: await readAlternates(from) })));
    level = texts
      .flatMap(({ from, text }) => parseAlternates(text).map((path) => resolve(from, path)))
      .filter((path) => !found.has(path));
    for (const path of level) found.add(path);
  }
  return [...found];
}

/** A file's text, or undefined when it is absent. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return undefined;
    throw error;
  }
}

const readAlternates = async (objects: string) => (await readText(join(objects, "info", "alternates"))) ?? "";

function parseAlternates(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => (line.startsWith('"') ? unquote(line) : line));
}

/** Git quotes only paths with unusual characters, in C's manner, which JSON reads but for octal escapes. */
function unquote(line: string): string {
  try {
    return String(JSON.parse(line));
  } catch {
    return line;
  }
}

async function findGitDir(path: string): Promise<string | undefined> {
  const dotGit = join(path, ".git");
  const link = /^gitdir: (.+)$/m.exec((await readText(dotGit)) ?? "")?.[1]?.trim();
  const linked = link === undefined ? undefined : isAbsolute(link) ? link : resolve(path, link);
  for (const candidate of [linked, dotGit, path]) {
    if (candidate !== undefined && (await isGitDir(candidate))) return candidate;
  }
  return undefined;
}

async function isGitDir(path: string): Promise<boolean> {
  if ((await readText(join(path, "HEAD"))) === undefined) return false;
  return (
    (await isDirectory(join(path, "objects"))) || (await readText(join(path, "commondir"))) !== undefined
  );
}

/** What would otherwise look like an empty repository is named for what it is. */
async function refuseUnreadable(path: string, commonDir: string): Promise<void> {
  const config = (await readText(join(commonDir, "config"))) ?? "";
  if (/^\s*objectformat\s*=\s*"?sha256/im.test(config)) {
    throw new RepositoryUnavailable(
      `The repository at ${path} uses SHA-256 object ids: serve one made with "git init --object-format=sha1".`,
      "unreachable",
    );
  }
  if (/^\s*refstorage\s*=\s*"?reftable/im.test(config) || (await isDirectory(join(commonDir, "reftable")))) {
    throw new RepositoryUnavailable(
      `The repository at ${path} keeps its refs as a reftable: run "git refs migrate --ref-format=files" there.`,
      "unreachable",
    );
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
