import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode } from "../platform/errors.ts";
import type { RepositoryFile } from "./derive-agents.ts";
import { maxDocumentBytes } from "./parse-document.ts";

/** A file on disk that may belong to an agents repository. */
export interface FoundFile {
  path: string;
  /** Where it would lie in a repository. */
  place: string;
  isLink: boolean;
}

export type Content = RepositoryFile["content"];

const mostEntries = 20_000;
export const linkRefused = "This is a symbolic link, which is not followed; put the file itself here.";

/**
 * The files below a repository's root, its agents folder or a framework's folder, sorted; undefined when the
 * folder is none of these.
 */
export async function findFiles(path: string): Promise<FoundFile[] | undefined> {
  const agents = await lstat(join(path, "agents")).catch(() => undefined);
  if (agents?.isDirectory()) return listFiles(join(path, "agents"), "agents");
  const absolute = resolve(path);
  if (basename(absolute) === "agents") return listFiles(path, "agents");
  if (basename(dirname(absolute)) === "agents") return listFiles(path, `agents/${basename(absolute)}`);
  return undefined;
}

/** Lists one level deeper than agents can lie, so that files put too deep are noticed. */
async function listFiles(root: string, rootPlace: string): Promise<FoundFile[]> {
  const files: FoundFile[] = [];
  const folders = [{ path: root, place: rootPlace }];
  let entries = 0;
  for (let folder = folders.shift(); folder && entries < mostEntries; folder = folders.shift()) {
    for (const entry of await readdir(folder.path, { withFileTypes: true })) {
      entries += 1;
      const path = join(folder.path, entry.name);
      const place = `${folder.place}/${entry.name}`;
      if (!entry.isDirectory()) files.push({ path, place, isLink: entry.isSymbolicLink() });
      else if (place.split("/").length <= 3 && !entry.name.startsWith(".")) folders.push({ path, place });
    }
  }
  return files.sort((a, b) => (a.place < b.place ? -1 : 1));
}

/** The content of a file, up to the size that specs and eval files may have. Never throws. */
export async function readBounded(path: string): Promise<Content> {
  try {
    // Opening a pipe would otherwise wait for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) return { problem: "This is not a regular file." };
    const buffer = new Uint8Array(maxDocumentBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      ({ bytesRead: read } = await file.read(buffer, length, buffer.length - length));
    return length > maxDocumentBytes ? { tooLarge: true } : { bytes: buffer.slice(0, length) };
  } catch (error) {
    return { problem: describeFsError(error) };
  }
}

/** Why something on disk could not be read, in a sentence. */
export function describeFsError(error: unknown): string {
  const code = errorCode(error) || "unknown reason";
  switch (code) {
    case "ENOENT":
      return "There is no such file or folder.";
    case "EACCES":
      return "This cannot be read; check its permissions.";
    case "ELOOP":
      return linkRefused;
    default:
      return `This cannot be read (${code}).`;
  }
}
