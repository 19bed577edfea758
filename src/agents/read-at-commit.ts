import type { BlobContent, RepositoryReader, TreeEntry } from "../repositories/index.ts";
import { type DerivedAgent, deriveAgents, type RepositoryFile } from "./derive-agents.ts";
import { maxDocumentBytes } from "./parse-document.ts";
import type { SpecSchemas } from "./parse-spec.ts";
import { foldName, groupKey } from "./spec-path.ts";

/**
 * The agent of that name as a commit has it, with its eval file; undefined when the commit has none. Throws
 * RepositoryUnavailable, also for a commit that the repository lacks.
 */
export type ReadAgentAt = (commitSha: string, name: string) => Promise<DerivedAgent | undefined>;

/** Reads single agents at any commit, as the catalog would have them there. */
export function createCommitReader({
  reader,
  schemas,
}: {
  reader: RepositoryReader;
  schemas: SpecSchemas;
}): ReadAgentAt {
  return async (commitSha, name) => {
    const group = foldName(name);
    const entries = (await reader.tree(commitSha)).filter(({ path }) => groupKey(path) === group);
    const { agents } = deriveAgents(await readEntries(reader, entries), schemas);
    return agents.find((agent) => agent.name === name);
  };
}

/** The contents of files and, for what is no file or too large, why there is none. Throws RepositoryUnavailable. */
export async function readEntries(
  reader: Pick<RepositoryReader, "blobs">,
  entries: readonly TreeEntry[],
): Promise<RepositoryFile[]> {
  const small = (entry: TreeEntry) => entry.size === null || entry.size <= maxDocumentBytes;
  const wanted = entries.filter((entry) => entry.kind === "file" && small(entry));
  const contents = await reader.blobs(wanted, maxDocumentBytes);
  return entries.map((entry) => ({
    path: entry.path,
    blobSha: entry.blobSha,
    content: contentOf(entry, contents),
  }));
}

function contentOf(entry: TreeEntry, contents: ReadonlyMap<string, BlobContent>): RepositoryFile["content"] {
  if (entry.kind === "symlink")
    return { problem: "This is a symbolic link, which is not followed; put the file itself here." };
  if (entry.kind === "submodule")
    return { problem: "This is a submodule, which is not read; put a file here." };
  return contents.get(entry.blobSha) ?? { tooLarge: true };
}
