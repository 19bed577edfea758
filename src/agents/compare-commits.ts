import type { RepositoryReader } from "../repositories/index.ts";
import { compareTrees, entriesOf, knownFiles } from "./compare-trees.ts";
import type { DerivedAgent } from "./derive-agents.ts";
import { deriveGroups } from "./derive-groups.ts";
import type { SpecSchemas } from "./parse-spec.ts";
import { readEntries } from "./read-at-commit.ts";

/** An agent that one commit has otherwise than another. */
export interface ChangedAgent {
  head: DerivedAgent;
  /** The agent before: at the same path or, if the file was moved, under the same name. */
  base: DerivedAgent | undefined;
}

/**
 * The agents at `headSha`, sorted by path, that are not as they were at `baseSha`: a file of theirs differs, or what is wrong
 * with them does, because a file elsewhere takes or leaves their name. Deleted ones are left out. Throws
 * RepositoryUnavailable, also for a commit that the repository lacks.
 */
export type CompareCommits = (baseSha: string, headSha: string) => Promise<ChangedAgent[]>;

/** Compares commits by their listings, and reads the files of agents that may differ: all of them in one call. */
export function createCommitComparison({
  reader,
  schemas,
}: {
  reader: Pick<RepositoryReader, "tree" | "blobs">;
  schemas: SpecSchemas;
}): CompareCommits {
  return async (baseSha, headSha) => {
    if (baseSha === headSha) return [];
    const before = await reader.tree(baseSha);
    const { groups, entries: after } = compareTrees(knownFiles(before), await reader.tree(headSha));
    if (after.length === 0) return [];
    const files = await readEntries(reader, [...after, ...entriesOf(before, groups)]);
    const heads = await deriveGroups(files.slice(0, after.length), schemas);
    const bases = await deriveGroups(files.slice(after.length), schemas);
    return pairUp(bases.agents, heads.agents);
  };
}

function pairUp(bases: readonly DerivedAgent[], heads: readonly DerivedAgent[]): ChangedAgent[] {
  const paths = new Set(heads.map(({ path }) => path));
  const samePath = new Map(bases.map((agent) => [agent.path, agent]));
  const moved = new Map(bases.filter(({ path }) => !paths.has(path)).map((agent) => [agent.name, agent]));
  return heads
    .map((head) => ({ head, base: samePath.get(head.path) ?? moved.get(head.name) }))
    .filter(({ head, base }) => base === undefined || traits(base) !== traits(head))
    .sort((a, b) => (a.head.path < b.head.path ? -1 : 1));
}

/** All that follows from an agent's files and their neighbours, without the texts, which the ids stand for. */
function traits(agent: DerivedAgent): string {
  const { path, blobSha, problems, evalPath, evalBlobSha, evalProblems } = agent;
  return JSON.stringify([path, blobSha, problems, evalPath, evalBlobSha, evalProblems]);
}
