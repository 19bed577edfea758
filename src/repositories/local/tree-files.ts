import { constants } from "node:fs";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../platform/errors.ts";
import { objectId } from "../object-id.ts";

/** What a path of a working tree has: a blob id and whether it may be executed, or why it is no ordinary file. */
export type FileState = { id: string; executable: boolean } | "absent" | "blocked";

const mostBytes = 64 * 1024 * 1024;

/** Looks at a path without following a link, neither the file's nor one of the folders above it. */
export async function fileState(root: string, path: string): Promise<FileState> {
  const folder = await folderState(root, path);
  if (folder !== "there") return folder;
  const full = join(root, path);
  const stats = await lstat(full).catch(absent);
  if (stats === undefined) return "absent";
  if (!stats.isFile() || stats.size > mostBytes) return "blocked";
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return { id: objectId("blob", await file.readFile()), executable: (stats.mode & 0o100) !== 0 };
  } finally {
    await file.close();
  }
}

async function folderState(root: string, path: string): Promise<"there" | "absent" | "blocked"> {
  for (const folder of foldersAbove(path)) {
    const stats = await lstat(join(root, folder)).catch(absent);
    if (stats === undefined) return "absent";
    if (!stats.isDirectory()) return "blocked";
  }
  return "there";
}

/** Writes a file beside its place, where `showFile` finds it. The folders above have been looked at before. */
export async function stageFile(
  root: string,
  path: string,
  bytes: Uint8Array,
  executable: boolean,
): Promise<void> {
  for (const folder of foldersAbove(path)) {
    await mkdir(join(root, folder)).catch((error) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
  }
  if ((await folderState(root, path)) !== "there") throw new Error(`${path} is behind something else`);
  await unstageFile(root, path);
  const file = await open(stagedAt(root, path), "wx", executable ? 0o777 : 0o666);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Puts what was staged in the file's place. */
export const showFile = (root: string, path: string) => rename(stagedAt(root, path), join(root, path));

export async function unstageFile(root: string, path: string): Promise<void> {
  if ((await folderState(root, path)) === "there") await rm(stagedAt(root, path), { force: true });
}

/** Always the same: what a process that died has left there is overwritten. */
const stagedAt = (root: string, path: string) => `${join(root, path)}.rollcall-new`;

/** `a` and `a/b` for `a/b/c`. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function absent(error: unknown): undefined {
  if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
  throw error;
}
