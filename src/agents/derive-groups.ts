import { type DerivedAgents, deriveAgents, type RepositoryFile } from "./derive-agents.ts";
import type { SpecSchemas } from "./parse-spec.ts";
import { groupKey } from "./spec-path.ts";

/** Deriving yields to requests after this many groups. */
const groupsPerTurn = 20;

/** Does what `deriveAgents` does, group by group, and lets other work go on in between. Sorted by path within a group. */
export async function deriveGroups(
  files: readonly RepositoryFile[],
  schemas: SpecSchemas,
): Promise<DerivedAgents> {
  const groups = Map.groupBy(files, (file) => groupKey(file.path)).values();
  const derived: DerivedAgents = { agents: [], catalogProblems: [] };
  for (const [index, group] of [...groups].entries()) {
    const { agents, catalogProblems } = deriveAgents(group, schemas);
    derived.agents.push(...agents);
    derived.catalogProblems.push(...catalogProblems);
    if (index % groupsPerTurn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return derived;
}
