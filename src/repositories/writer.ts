import { objectId } from "./object-id.ts";
import { isFilePath } from "./paths.ts";
import type { RepositoryReader, TreeEntry } from "./ports.ts";
import type { Refused } from "./pull-request-host.ts";

/** A file as it is to be, whole. Its path is always below `agents/`. */
export interface NewFile {
  path: string;
  text: string;
}

/** A change of some files of the served branch. */
export interface NewCommit {
  /** Commit that the files were written from. */
  baseSha: string;
  files: readonly NewFile[];
  message: string;
}

export interface Proposal extends NewCommit {
  /** Branch of this proposal alone, without refs/heads/: the same one again is the same proposal. */
  branch: string;
  /** One line. */
  title: string;
  /** Markdown. */
  body: string;
}

export interface Written {
  commitSha: string;
  /** Page of the pull request or commit; undefined where there is none. */
  url: string | undefined;
}

/**
 * What Rollcall writes to a repository: files below `agents/`, nothing else. When the served branch has moved since
 * `baseSha` the files are put onto its new head, unless one of them has changed there too: that is refused, as are
 * a missing permission and a path elsewhere. Both methods may be called again after any failure: what was done
 * before is found and answered, not done twice. They throw RepositoryUnavailable when the repository cannot be asked
 * now.
 */
export interface RepositoryWriter {
  /** Puts the change on a branch of its own, and opens a pull request where there are any. */
  propose(proposal: Proposal): Promise<Written | Refused>;
  /** Puts the change on the served branch. */
  commit(change: NewCommit): Promise<Written | Refused>;
}

/** Why such files are not written, whoever asks; undefined when they may be. */
export function refuseElsewhere(files: readonly NewFile[]): Refused | undefined {
  const wrong = files.find(({ path }) => !isAgentPath(path));
  if (wrong === undefined) return undefined;
  return { refused: `Only files below agents/ are written, and ${JSON.stringify(wrong.path)} is none.` };
}

function isAgentPath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f\\:]/.test(path) || !isFilePath(path)) return false;
  const [root, ...below] = path.split("/");
  // Git on some file systems takes other writings of its own folder for it.
  return root === "agents" && below.length > 0 && below.every((part) => !/^\.?git($|[~.])/i.test(part));
}

/** Whether the entries hold exactly these contents. */
export function holds(entries: readonly TreeEntry[], files: readonly NewFile[]): boolean {
  const found = new Map(entries.map((entry) => [entry.path, entry]));
  return files.every(({ path, text }) => {
    const entry = found.get(path);
    return entry?.kind === "file" && entry.blobSha === objectId("blob", Buffer.from(text));
  });
}

/** Why the change cannot be put onto that head, whose entries are given; undefined when it can. */
export async function findConflict(
  reader: Pick<RepositoryReader, "tree">,
  { baseSha, files }: NewCommit,
  head: { commitSha: string; entries: readonly TreeEntry[] },
): Promise<Refused | undefined> {
  const now = new Map(head.entries.map((entry) => [entry.path, entry]));
  for (const { path } of files) {
    const blocked = [path, ...parentsOf(path)].find((each) => (now.get(each)?.kind ?? "file") !== "file");
    const isFolder = head.entries.some((entry) => entry.path.startsWith(`${path}/`));
    const shadowed = parentsOf(path).find((each) => now.has(each)) ?? (isFolder ? path : blocked);
    if (shadowed !== undefined)
      return { refused: `${shadowed} is no ordinary file or folder in the repository; put one there first.` };
  }
  if (head.commitSha === baseSha) return undefined;
  const before = new Map((await reader.tree(baseSha)).map((entry) => [entry.path, entry]));
  const changed = files.find(({ path }) => before.get(path)?.blobSha !== now.get(path)?.blobSha);
  if (changed === undefined) return undefined;
  return { refused: `${changed.path} was changed in the repository meanwhile; ask for the change again.` };
}

function parentsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1, -1).map((_, index) => parts.slice(0, index + 2).join("/"));
}
