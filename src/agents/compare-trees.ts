import type { TreeEntry } from "../repositories/index.ts";
import { groupKey } from "./spec-path.ts";

/** A file of an agent as it is remembered. */
export interface KnownFile {
  path: string;
  /** Git's id of a file, and another text for what is none: whenever one differs, the other does. */
  blobSha: string;
}

/** What a newer tree changes. */
export interface TreeDifference {
  /** Paths of files that are no longer there. */
  gone: string[];
  changed: KnownFile[];
  /** Keys of the groups that have to be derived again. */
  groups: ReadonlySet<string>;
  /** All entries of those groups in the newer tree. */
  entries: TreeEntry[];
}

/** Compares the files of agents, and no others, by what they are: nothing is read. */
export function compareTrees(known: readonly KnownFile[], tree: readonly TreeEntry[]): TreeDifference {
  const before = new Map(known.map(({ path, blobSha }) => [path, blobSha]));
  const after = knownFiles(tree);
  const present = new Set(after.map(({ path }) => path));
  const gone = known.map(({ path }) => path).filter((path) => !present.has(path));
  const changed = after.filter(({ path, blobSha }) => before.get(path) !== blobSha);
  const groups = new Set([...gone, ...changed.map(({ path }) => path)].map((path) => groupKey(path) ?? ""));
  return { gone, changed, groups, entries: entriesOf(tree, groups) };
}

/** The files of agents in a tree. */
export function knownFiles(tree: readonly TreeEntry[]): KnownFile[] {
  return tree
    .filter(({ path }) => groupKey(path) !== undefined)
    .map((entry) => ({ path: entry.path, blobSha: identityOf(entry) }));
}

/** The entries of a tree that belong to some groups. */
export function entriesOf(tree: readonly TreeEntry[], groups: ReadonlySet<string>): TreeEntry[] {
  return tree.filter(({ path }) => {
    const key = groupKey(path);
    return key !== undefined && groups.has(key);
  });
}

/** A link that becomes a file with the same bytes is another thing. At most 64 characters. */
function identityOf({ kind, blobSha }: TreeEntry): string {
  return kind === "file" ? blobSha : `${kind}:${blobSha}`.slice(0, 64);
}
