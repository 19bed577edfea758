import { type AgentSpec, RunFailure } from "../frameworks/index.ts";
import { AppError } from "../platform/errors.ts";
import type { RepositoryReader } from "../repositories/index.ts";
import { type DerivedAgent, deriveAgents } from "./derive-agents.ts";
import { handoffsOf } from "./handoffs.ts";
import type { SpecSchemas } from "./parse-spec.ts";
import { readEntries } from "./read-at-commit.ts";
import type { Agents } from "./service.ts";
import { foldName, groupKey } from "./spec-path.ts";

/** Agents that a run can come to by handoffs are never more than this; a run of more fails by itself. */
const mostBeside = 32;

/** An agent that can be run as a commit has it. */
export type SoundAgent = DerivedAgent & { spec: AgentSpec; specText: string };

/**
 * The agents that a spec can come to by handoffs, as that commit has them and without those that are missing or
 * broken there. Nothing is read for a spec without handoffs. Throws RepositoryUnavailable.
 */
export type ReadBesideAt = (commitSha: string, spec: AgentSpec) => Promise<SoundAgent[]>;

/** Reads the agents that go with one at any commit. */
export function createBesideReader({
  reader,
  schemas,
}: {
  reader: Pick<RepositoryReader, "tree" | "blobs">;
  schemas: SpecSchemas;
}): ReadBesideAt {
  return async (commitSha, spec) => {
    if (handoffsOf(spec).length === 0) return [];
    const entries = await reader.tree(commitSha);
    return gather(spec, async (names) => {
      const groups = new Set(names.map(foldName));
      const wanted = entries.filter(({ path }) => groups.has(groupKey(path) ?? ""));
      const { agents } = deriveAgents(await readEntries(reader, wanted), schemas);
      return agents.filter((agent) => names.includes(agent.name)).filter(isSound);
    });
  };
}

const isSound = (agent: DerivedAgent): agent is SoundAgent =>
  agent.spec !== undefined && agent.specText !== undefined;

/** The same from the catalog's drafts, with the hashes of their specs. */
export async function draftsBeside(
  agents: Pick<Agents, "resolve" | "spec">,
  workspaceId: string,
  spec: AgentSpec,
): Promise<{ spec: AgentSpec; specSha: string }[]> {
  const draftOf = async (name: string) => {
    try {
      const { specSha } = await agents.resolve(workspaceId, name, "draft");
      return [{ spec: await agents.spec(specSha), specSha }];
    } catch (error) {
      if (error instanceof RunFailure || (error instanceof AppError && error.status < 500)) return [];
      throw error;
    }
  };
  return gather(spec, async (names) => (await Promise.all(names.map(draftOf))).flat());
}

/** Follows handoffs, each agent's once: they may lead back. */
async function gather<T extends { spec: AgentSpec }>(
  first: AgentSpec,
  find: (names: readonly string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const seen = new Set([first.name]);
  const gathered: T[] = [];
  let named = handoffsOf(first);
  for (;;) {
    const fresh = [...new Set(named)]
      .filter((name) => !seen.has(name))
      .slice(0, mostBeside - gathered.length);
    if (fresh.length === 0) return gathered;
    for (const name of fresh) seen.add(name);
    const found = await find(fresh);
    gathered.push(...found);
    named = found.flatMap(({ spec }) => handoffsOf(spec));
  }
}
