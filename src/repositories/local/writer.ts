import { join } from "node:path";
import { errorCode } from "../../platform/errors.ts";
import { type RepositoryReader, RepositoryUnavailable } from "../ports.ts";
import type { Refused } from "../pull-request-host.ts";
import {
  findConflict,
  holds,
  type NewCommit,
  type RepositoryWriter,
  refuseElsewhere,
  type Written,
} from "../writer.ts";
import { type GitDirectory, locateGitDirectory, objectDirectories } from "./git-directory.ts";
import { takeLock } from "./lock-file.ts";
import { type Moved, moveBranch, unlockBranch } from "./move-branch.ts";
import { createObjectStore } from "./objects.ts";
import { createRefReader } from "./refs.ts";
import { storeObject } from "./store-object.ts";
import { PathBlocked, withFiles } from "./tree-edit.ts";
import { createTreeUpdate, refusal, type TreeUpdate } from "./tree-update.ts";
import { rootTree } from "./trees.ts";
import { type WorkingTree, workingTreesOf } from "./working-trees.ts";

export interface LocalWriterOptions {
  path: string;
  reader: Pick<RepositoryReader, "head" | "branch" | "tree" | "blobs">;
}

const AUTHOR = "Rollcall <rollcall@localhost>";
const TRIES = 3;

/**
 * Writes objects and refs of a Git directory on disk without a `git` program. A proposal is a branch, of which no
 * working tree shows anything. A branch that one shows is moved together with the tree's files and index, under Git's
 * own locks, and only when nobody has changed these files.
 */
export function createLocalWriter({ path, reader }: LocalWriterOptions): RepositoryWriter {
  const refs = createRefReader(path);

  /** Stores a commit of the files on that head; nothing refers to it yet. */
  async function makeCommit(
    { commonDir }: GitDirectory,
    head: string,
    { files, message }: NewCommit,
  ): Promise<string | Refused> {
    const own = join(commonDir, "objects");
    const objects = createObjectStore(await objectDirectories(commonDir));
    try {
      const split = files.map((file) => ({ path: file.path.split("/"), bytes: Buffer.from(file.text) }));
      const root = await rootTree(objects, head);
      const tree = await withFiles(objects, (type, bytes) => storeObject(own, type, bytes), root, split);
      const now = `${Math.floor(Date.now() / 1000)} +0000`;
      const text = `tree ${tree}\nparent ${head}\nauthor ${AUTHOR} ${now}\ncommitter ${AUTHOR} ${now}\n\n${message.trimEnd()}\n`;
      return await storeObject(own, "commit", Buffer.from(text));
    } catch (error) {
      if (error instanceof PathBlocked) return { refused: error.message };
      throw error;
    } finally {
      await objects.close();
    }
  }

  /** Puts the change onto the head of the served branch and moves `target` there. */
  async function place(
    directory: GitDirectory,
    change: NewCommit,
    target: (head: string) => { branch: string; from: string | undefined },
    shown?: TreeUpdate,
  ): Promise<Written | Refused> {
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const commitSha = await reader.head();
      const entries = await reader.tree(commitSha);
      if (holds(entries, change.files)) return { commitSha, url: undefined };
      const conflict = await findConflict(reader, change, { commitSha, entries });
      if (conflict) return conflict;
      const made = await makeCommit(directory, commitSha, change);
      if (typeof made !== "string") return made;
      const inTheWay = await shown?.prepare(commitSha, change);
      if (inTheWay) return inTheWay;
      const { branch, from } = target(commitSha);
      const moved = await moveBranch(directory, refs, { branch, from, to: made });
      if (moved === "moved") return { commitSha: made, url: undefined };
      if (moved !== "changed") return explain(moved, branch);
      // Another process may have been first with the same proposal.
      const there = from === undefined ? await refs.branch(directory, branch) : undefined;
      if (there !== undefined) return existing(there, branch, change);
    }
    return { refused: "The branch moved again and again while the change was made; ask for it later." };
  }

  async function existing(commitSha: string, branch: string, change: NewCommit): Promise<Written | Refused> {
    if (holds(await reader.tree(commitSha), change.files)) return { commitSha, url: undefined };
    return { refused: `The branch ${branch} is there with other contents; delete it and ask again.` };
  }

  /** Puts the change onto a branch that a working tree shows, and shows it there. */
  async function placeShown(
    tree: WorkingTree,
    branch: string,
    change: NewCommit,
  ): Promise<Written | Refused> {
    const { root, gitDir } = tree;
    if (root === undefined) return refusal("its files are in no usual place");
    const lock = await takeLock({ path: join(gitDir, "index.lock"), drafts: gitDir });
    if (!lock)
      throw locked(`the index of ${root}`, ` If none is running, remove ${join(gitDir, "index.lock")}.`);
    const update = createTreeUpdate({ root, gitDir, lock, reader, head: () => refs.branch(tree, branch) });
    const finish = () =>
      update.finish().then(lock.release, async (error) => {
        await lock.abandon();
        throw error;
      });
    let written: Written | Refused;
    try {
      await update.finish();
      // Whoever switched to another branch had the lock before.
      const [now] = await workingTreesOf(tree, branch, path);
      written =
        now?.gitDir !== gitDir || now.busy !== undefined
          ? refusal(`${now?.busy ?? "a switch of branches"} is under way`)
          : await place(tree, change, (head) => ({ branch, from: head }), update);
    } catch (error) {
      // What went wrong first is what is told.
      await finish().catch(() => {});
      throw error;
    }
    await finish();
    return written;
  }

  function locked(what: string, advice = ""): RepositoryUnavailable {
    const message = `Another Git process keeps ${what} locked at ${path}: it is tried again.${advice}`;
    return new RepositoryUnavailable(message, "unreachable");
  }

  function explain(moved: Exclude<Moved, "moved" | "changed">, branch: string): Refused {
    if (moved === "blocked")
      return { refused: `Another branch is in the way of ${branch}; rename that one and ask again.` };
    throw locked(branch);
  }

  return {
    async propose(proposal) {
      const elsewhere = refuseElsewhere(proposal.files);
      if (elsewhere) return elsewhere;
      return guarded(path, async () => {
        const directory = await locateGitDirectory(path);
        await unlockBranch(directory, proposal.branch);
        const there = await refs.branch(directory, proposal.branch);
        if (there !== undefined) return existing(there, proposal.branch, proposal);
        return place(directory, proposal, () => ({ branch: proposal.branch, from: undefined }));
      });
    },
    async commit(change) {
      const elsewhere = refuseElsewhere(change.files);
      if (elsewhere) return elsewhere;
      return guarded(path, async () => {
        const directory = await locateGitDirectory(path);
        await reader.head();
        const branch = reader.branch();
        if (branch === undefined)
          return { refused: "The repository is on no branch; check one out, or set ROLLCALL_BRANCH." };
        await unlockBranch(directory, branch);
        const [tree, ...others] = await workingTreesOf(directory, branch, path);
        if (tree === undefined) return place(directory, change, (head) => ({ branch, from: head }));
        if (others.length > 0) return refusal("several working trees show it");
        return placeShown(tree, branch, change);
      });
    },
  };
}

async function guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof RepositoryUnavailable) throw cause;
    const code = errorCode(cause);
    if (["EACCES", "EPERM", "EROFS"].includes(code)) {
      const message = `The repository at ${path} may not be written: allow the account that runs Rollcall to do so.`;
      throw new RepositoryUnavailable(message, "forbidden", undefined, { cause });
    }
    const message = `The repository at ${path} could not be written${code === "" ? "" : ` (${code})`}: it is tried again.`;
    throw new RepositoryUnavailable(message, "unreachable", undefined, { cause });
  }
}
