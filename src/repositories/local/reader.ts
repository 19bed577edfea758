import { errorCode } from "../../platform/errors.ts";
import { forEachBounded } from "../bounded.ts";
import { isFilePath } from "../paths.ts";
import { type BlobContent, type RepositoryReader, RepositoryUnavailable } from "../ports.ts";
import { locateGitDirectory, objectDirectories } from "./git-directory.ts";
import { createObjectStore, ObjectMissing, type ObjectStore } from "./objects.ts";
import { createRefReader } from "./refs.ts";
import { findFile, listBelow } from "./trees.ts";

export interface LocalReaderOptions {
  /** A work tree, a bare repository or a `.git` directory. */
  path: string;
  /** The branch that is served; without it the one that is checked out, also after a switch. */
  branch?: string;
}

/** A look costs a few small file reads. */
const POLL_INTERVAL = 500;
/** Blobs that are read at the same time. */
const LANES = 16;

/**
 * Reads a Git directory on disk without a `git` program. Files are opened for the length of one call, so
 * that nothing stays in memory and a repository that was repacked or moved is found again at the next.
 */
export function createLocalReader({ path, branch }: LocalReaderOptions): RepositoryReader {
  const refs = createRefReader(path);
  let served = branch;

  async function withObjects<T>(work: (objects: ObjectStore) => Promise<T>): Promise<T> {
    const { commonDir } = await locateGitDirectory(path);
    const objects = createObjectStore(await objectDirectories(commonDir));
    try {
      return await work(objects);
    } finally {
      await objects.close();
    }
  }

  /** `git gc` moves objects while they are read: a second look finds them in their new place. */
  async function read<T>(work: (objects: ObjectStore) => Promise<T>): Promise<T> {
    return withObjects(work)
      .catch(() => withObjects(work))
      .catch((error: unknown) => {
        throw toUnavailable(error, path);
      });
  }

  return {
    label: path,
    pollInterval: POLL_INTERVAL,
    branch: () => served,
    // HEAD is read at every look anyway.
    forget() {},
    async head() {
      try {
        const head = await refs.head(await locateGitDirectory(path), branch);
        served = head.branch;
        return head.commitSha;
      } catch (error) {
        throw toUnavailable(error, path);
      }
    },
    tree: (commitSha) => read((objects) => listBelow(objects, commitSha, "agents")),
    async blobs(requests, maxBytes) {
      const wanted = [...new Set(requests.map((request) => request.blobSha))];
      const contents = new Map<string, BlobContent>();
      await read((objects) =>
        forEachBounded(wanted, LANES, async (id) => {
          if (contents.has(id)) return;
          const bytes = await objects.readUpTo(id, "blob", maxBytes);
          contents.set(id, bytes === undefined ? { tooLarge: true } : { bytes });
        }),
      );
      return contents;
    },
    file: (commitSha, filePath, maxBytes) =>
      read(async (objects) => {
        const id = isFilePath(filePath) ? await findFile(objects, commitSha, filePath) : undefined;
        return id === undefined ? undefined : await objects.readUpTo(id, "blob", maxBytes);
      }),
    async close() {},
  };
}

function toUnavailable(error: unknown, path: string): RepositoryUnavailable {
  if (error instanceof RepositoryUnavailable) return error;
  const options = { cause: error };
  const code = errorCode(error);
  if (code === "EACCES" || code === "EPERM") {
    const message = `The repository at ${path} may not be read: allow the account that runs Rollcall to read it.`;
    return new RepositoryUnavailable(message, "forbidden", undefined, options);
  }
  if (["EMFILE", "ENFILE", "EIO", "ESTALE", "ENOMEM"].includes(code)) {
    const message = `The disk that holds the repository at ${path} answered ${code}: it is read again shortly.`;
    return new RepositoryUnavailable(message, "unreachable", undefined, options);
  }
  const what =
    error instanceof ObjectMissing ? `lacks object ${error.id}` : "has an object that cannot be read";
  return new RepositoryUnavailable(
    `The repository at ${path} ${what}: run "git fsck" there, and "git fetch --refetch" if it is a partial clone.`,
    "incomplete",
    undefined,
    options,
  );
}
