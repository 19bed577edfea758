import type { ObjectStore } from "./objects.ts";
import { type RawLine, readRawTree } from "./trees.ts";

/** Stores an object and answers its id. */
export type StoreObject = (type: "blob" | "tree", bytes: Uint8Array) => Promise<string>;

const FOLDER = "40000";
const FILE = "100644";

/** What is in the way of a file: a link, a submodule, a file in place of a folder or the other way round. */
export class PathBlocked extends Error {}

/**
 * Puts files into a tree and answers the new tree's id. Every other line stays as it is, byte for byte, and so does
 * the mode of a file that was there. Throws PathBlocked.
 */
export async function withFiles(
  objects: ObjectStore,
  store: StoreObject,
  treeId: string | undefined,
  files: readonly { path: readonly string[]; bytes: Uint8Array }[],
): Promise<string> {
  const lines = new Map(
    (treeId === undefined ? [] : await readRawTree(objects, treeId)).map((line) => [keyOf(line.name), line]),
  );
  const groups = Map.groupBy(files, ({ path }) => path[0] ?? "");
  for (const [part, group] of groups) {
    const name = Buffer.from(part);
    const known = lines.get(keyOf(name));
    const [first] = group;
    const leaf = first?.path.length === 1 ? first : undefined;
    if (known && (leaf ? !known.mode.startsWith("100") : known.mode !== FOLDER))
      throw new PathBlocked(`${part} is no ordinary ${leaf ? "file" : "folder"} in the repository.`);
    const below = group.map(({ path, bytes }) => ({ path: path.slice(1), bytes }));
    const id = leaf ? await store("blob", leaf.bytes) : await withFiles(objects, store, known?.id, below);
    lines.set(keyOf(name), { name, mode: known?.mode ?? (leaf ? FILE : FOLDER), id });
  }
  return store("tree", serialise([...lines.values()]));
}

/** Names are bytes, and any of them may be there. */
const keyOf = (name: Buffer) => name.toString("latin1");

/** In Git's order: by bytes, a folder as if its name ended with a slash. */
function serialise(lines: readonly RawLine[]): Buffer {
  const sortKey = ({ name, mode }: RawLine) =>
    mode === FOLDER ? Buffer.concat([name, Buffer.from("/")]) : name;
  const sorted = lines.toSorted((a, b) => Buffer.compare(sortKey(a), sortKey(b)));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      name,
      Buffer.from([0]),
      Buffer.from(id, "hex"),
    ]),
  );
}
