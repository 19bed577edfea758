import { forEachBounded } from "../bounded.ts";
import { byPath } from "../paths.ts";
import type { TreeEntry } from "../ports.ts";
import type { ObjectStore } from "./objects.ts";

/** Folders that are read at the same time. */
const LANES = 16;

/** One line of a tree. */
interface TreeLine {
  name: string;
  id: string;
  kind: TreeEntry["kind"] | "folder";
}

const ID_BYTES = 20;
/** Git knows the empty folder by heart and does not always store it. */
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/**
 * Lines of a tree object. Names are decoded here and not by a Git library, because those refuse a whole
 * tree for one odd name (a backslash, an unusual mode), and one bad file must stay one bad file.
 */
export function parseTree(bytes: Uint8Array): TreeLine[] {
  return rawLines(bytes).map(({ mode, name, id }) => ({
    kind: kindOf(Number.parseInt(mode, 8)),
    name: decodeName(name),
    id,
  }));
}

/** A line of a tree as it is stored: the mode in octal, the name in whatever bytes it has. */
export interface RawLine {
  mode: string;
  name: Buffer;
  id: string;
}

/** Lines of a tree object, byte for byte, for one that is to be written again. */
export function rawLines(bytes: Uint8Array): RawLine[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines: RawLine[] = [];
  for (let at = 0; at < buffer.length; ) {
    const space = buffer.indexOf(0x20, at);
    const end = buffer.indexOf(0, space);
    if (space === -1 || end === -1 || end + ID_BYTES >= buffer.length) {
      throw new Error("a tree object is cut off");
    }
    lines.push({
      mode: buffer.toString("latin1", at, space),
      name: buffer.subarray(space + 1, end),
      id: buffer.toString("hex", end + 1, end + 1 + ID_BYTES),
    });
    at = end + 1 + ID_BYTES;
  }
  return lines;
}

/** The type bits of the mode; permission bits differ between the Git versions that wrote them. */
function kindOf(mode: number): TreeLine["kind"] {
  switch (mode & 0o170000) {
    case 0o040000:
      return "folder";
    case 0o120000:
      return "symlink";
    case 0o160000:
      return "submodule";
    default:
      return "file";
  }
}

/** Bytes that are no UTF-8 are shown in octal, as Git shows them, so that two such names never look alike. */
function decodeName(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes
      .toString("latin1")
      .replace(/[\x80-\xff]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  }
}

async function readTree(objects: ObjectStore, id: string): Promise<TreeLine[]> {
  return id === EMPTY_TREE ? [] : parseTree(await objects.read(id, "tree"));
}

/** Lines of a stored tree, byte for byte. */
export async function readRawTree(objects: ObjectStore, id: string): Promise<RawLine[]> {
  return id === EMPTY_TREE ? [] : rawLines(await objects.read(id, "tree"));
}

/** Id of the root folder of a commit. */
export async function rootTree(objects: ObjectStore, commitSha: string): Promise<string> {
  const commit = await objects.read(commitSha, "commit");
  const start = Buffer.from(commit.subarray(0, 45)).toString("latin1");
  const tree = /^tree ([0-9a-f]{40})$/.exec(start)?.[1];
  if (tree === undefined) throw new Error(`commit ${commitSha} names no tree`);
  return tree;
}

const readRoot = async (objects: ObjectStore, commitSha: string): Promise<TreeLine[]> =>
  readTree(objects, await rootTree(objects, commitSha));

/** Everything below one folder of the root, sorted by path; empty when there is no such folder. */
export async function listBelow(
  objects: ObjectStore,
  commitSha: string,
  folder: string,
): Promise<TreeEntry[]> {
  const root = (await readRoot(objects, commitSha)).find((line) => line.name === folder);
  if (root?.kind !== "folder") return [];
  const entries: TreeEntry[] = [];
  let level = [{ path: folder, id: root.id }];
  while (level.length > 0) {
    const next: typeof level = [];
    await forEachBounded(level, LANES, async ({ path, id }) => {
      for (const line of await readTree(objects, id)) {
        const below = `${path}/${line.name}`;
        if (line.kind === "folder") next.push({ path: below, id: line.id });
        else entries.push({ path: below, blobSha: line.id, kind: line.kind, size: null });
      }
    });
    level = next;
  }
  return entries.sort(byPath);
}

/** Blob id of the regular file at a path, or undefined when there is none. */
export async function findFile(
  objects: ObjectStore,
  commitSha: string,
  path: string,
): Promise<string | undefined> {
  let lines = await readRoot(objects, commitSha);
  const parts = path.split("/");
  for (const [position, part] of parts.entries()) {
    const line = lines.find((candidate) => candidate.name === part);
    const last = position === parts.length - 1;
    if (line === undefined || line.kind !== (last ? "file" : "folder")) return undefined;
    if (last) return line.id;
    lines = await readTree(objects, line.id);
  }
  return undefined;
}
