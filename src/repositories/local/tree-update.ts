import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { objectId } from "../object-id.ts";
import type { RepositoryReader } from "../ports.ts";
import type { Refused } from "../pull-request-host.ts";
import type { NewCommit } from "../writer.ts";
import { type GitIndex, IndexNotWritable, type NewIndexLine, parseIndex, writeIndex } from "./git-index.ts";
import type { LockFile, PathPlan } from "./lock-file.ts";
import { fileState, foldersAbove, showFile, stageFile, unstageFile } from "./tree-files.ts";

/** A working tree on its way from one commit of its branch to the next; its index is locked meanwhile. */
export interface TreeUpdate {
  /**
   * Makes ready to show the change on top of that head, before the branch is moved. Answers why that would take
   * something from somebody: a file of the change has other contents in the tree or in the index than in the head.
   */
  prepare(head: string, change: NewCommit): Promise<Refused | undefined>;
  /**
   * Shows in files and index what was prepared, by this process or by one that has died, as far as the branch has
   * come to it; the rest is forgotten. What somebody has changed meanwhile stays. May be called again after a failure.
   */
  finish(): Promise<void>;
}

export interface TreeUpdateDeps {
  /** Top folder of the working tree. */
  root: string;
  gitDir: string;
  /** That of its index. */
  lock: LockFile;
  reader: Pick<RepositoryReader, "tree" | "blobs">;
  /** Commit of the branch that the tree shows. */
  head(): Promise<string | undefined>;
}

const FILE = 0o100644;
const EXECUTABLE = 0o100755;

export function createTreeUpdate({ root, gitDir, lock, reader, head }: TreeUpdateDeps): TreeUpdate {
  let plan = lock.left;

  async function prepare(commitSha: string, { files }: NewCommit): Promise<Refused | undefined> {
    const index = await writableIndex(gitDir);
    if ("refused" in index) return index;
    const blobs = await blobsAt(reader, commitSha);
    const next: PathPlan[] = [];
    const contents = files.map(({ path, text }) => ({ path, bytes: Buffer.from(text) }));
    const fresh = contents.filter(({ path, bytes }) => blobs.get(path) !== objectId("blob", bytes));
    for (const { path, bytes } of fresh) {
      const change = { path, before: blobs.get(path) ?? null, after: objectId("blob", bytes) };
      const planned = await planPath(root, index, change);
      if ("refused" in planned) return planned;
      next.push(planned);
    }
    await lock.note(next);
    plan = next;
    // Before the branch is moved: a full disk or a folder that may not be written shows here.
    for (const { path, bytes } of fresh) await stageFile(root, path, bytes, false);
    return undefined;
  }

  async function finish(): Promise<void> {
    if (plan.length === 0) return;
    const commitSha = await head();
    const blobs = commitSha === undefined ? new Map() : await blobsAt(reader, commitSha);
    const reached = plan.filter(({ path, after }) => blobs.get(path) === after);
    for (const each of reached) await show(each);
    for (const { path } of plan) await unstageFile(root, path);
    if (reached.length > 0) await updateIndex(reached);
    await lock.note([]);
    plan = [];
  }

  async function show({ path, before, after, mode }: PathPlan): Promise<void> {
    const state = await fileState(root, path);
    if (state === "blocked" || (state === "absent" ? null : state.id) !== before) return;
    const content = (await reader.blobs([{ path, blobSha: after }], Number.MAX_SAFE_INTEGER)).get(after);
    if (!content || !("bytes" in content)) throw new Error(`blob ${after} was not read`);
    const executable = state === "absent" ? mode === EXECUTABLE : state.executable;
    await stageFile(root, path, content.bytes, executable);
    await showFile(root, path);
  }

  async function updateIndex(reached: readonly PathPlan[]): Promise<void> {
    const index = await writableIndex(gitDir);
    if ("refused" in index) throw new Error(index.refused);
    const lines = new Map(index.lines.map((line) => [line.name.toString(), line.id]));
    const due = reached.filter(({ path, before }) => (lines.get(path) ?? null) === before);
    if (due.length === 0) return;
    await lock.publish(join(gitDir, "index"), writeIndex(index, await Promise.all(due.map(newLine))));
  }

  async function newLine({ path, after: id, mode }: PathPlan): Promise<NewIndexLine> {
    const stat = await lstat(join(root, path), { bigint: true }).catch(() => undefined);
    const state = await fileState(root, path);
    const isShown = typeof state === "object" && state.id === id;
    return { path, id, mode, stat: isShown ? stat : undefined };
  }

  return { prepare, finish };
}

async function blobsAt(reader: Pick<RepositoryReader, "tree">, commitSha: string) {
  return new Map((await reader.tree(commitSha)).map(({ path, blobSha }) => [path, blobSha]));
}

async function writableIndex(gitDir: string): Promise<GitIndex | Refused> {
  const bytes = await readIndex(gitDir);
  if (bytes === undefined) return refusal("it has no index");
  try {
    const index = parseIndex(bytes);
    return index.lines.some(({ stage }) => stage !== 0) ? refusal("a merge is not finished") : index;
  } catch (error) {
    if (error instanceof IndexNotWritable) return refusal(error.message);
    throw error;
  }
}

async function readIndex(gitDir: string): Promise<Buffer | undefined> {
  return readFile(join(gitDir, "index")).catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function planPath(
  root: string,
  { lines }: GitIndex,
  { path, before, after }: Omit<PathPlan, "mode">,
): Promise<PathPlan | Refused> {
  const folders = new Set(foldersAbove(path));
  const names = lines.map((line) => ({ ...line, path: line.name.toString() }));
  const inTheWay = names.find((line) => folders.has(line.path) || line.path.startsWith(`${path}/`));
  if (inTheWay) return changed(inTheWay.path);
  const line = names.find((each) => each.path === path);
  if ((line?.id ?? null) !== before || (line && line.mode !== FILE && line.mode !== EXECUTABLE))
    return changed(path);
  const state = await fileState(root, path);
  if (state === "blocked") return changed(path);
  const shown = state === "absent" ? null : state.id;
  if (shown !== before && shown !== after) return changed(path);
  return { path, before, after, mode: line?.mode ?? FILE };
}

const changed = (path: string) => ({
  refused: `${path} has changes in the working tree that are not committed; commit or undo them and ask again.`,
});

/** Why nothing can be committed to a branch that a working tree shows. */
export const refusal = (reason: string): Refused => ({
  refused: `The branch is checked out in a working tree that cannot be brought up to date: ${reason}. Mend that, or set commitMode to pull_request.`,
});
