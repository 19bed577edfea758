import { toInstant } from "../platform/clock.ts";
import { type HandoffTarget, handoffWarnings, type PlacedHandoff } from "./handoffs.ts";
import { nearMatches } from "./near-matches.ts";
import type { Problem } from "./problem.ts";
import type { Agent, Catalog } from "./schema.ts";
import type { CatalogRow, ListedAgentRow } from "./store.ts";

export interface AgentVersionNumbers {
  stable: number | null;
  latest: number | null;
}

export const handoffsOfRow = ({ handoffs }: Pick<ListedAgentRow, "handoffs">): PlacedHandoff[] =>
  handoffs === null ? [] : JSON.parse(handoffs);

/** An agent as lists show it. `knownSlugs` are the tools of the caller's catalog, `targets` the agents it hands off to. */
export function presentAgent(
  row: ListedAgentRow,
  versions: AgentVersionNumbers,
  knownSlugs: ReadonlySet<string>,
  targets: ReadonlyMap<string, HandoffTarget>,
): Agent {
  const problems: Problem[] = JSON.parse(row.problems);
  const evalProblems: Problem[] = JSON.parse(row.eval_problems);
  const connections: string[] = JSON.parse(row.connections);
  const warnings = [
    ...slugWarnings(connections, knownSlugs),
    ...handoffWarnings(row.framework, handoffsOfRow(row), targets),
  ];
  return {
    name: row.name,
    framework: row.framework,
    path: row.path,
    valid: row.valid === 1,
    ...(problems.length > 0 ? { problems } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(evalProblems.length > 0 ? { evalProblems } : {}),
    hasEvals: row.has_evals === 1,
    labels: JSON.parse(row.labels),
    connections,
    versions,
    commitSha: row.commit_sha,
    updatedAt: toInstant(row.updated_at),
  };
}

export function presentCatalog(row: CatalogRow | undefined): Catalog {
  return {
    repository: row?.repository ?? null,
    commitSha: row?.commit_sha ?? null,
    syncedAt: toInstant(row?.synced_at ?? null),
    stale: row?.stale !== 0,
    ...(row?.error ? { error: row.error } : {}),
    problems: row ? JSON.parse(row.problems) : [],
  };
}

function slugWarnings(slugs: readonly string[], known: ReadonlySet<string>): Problem[] {
  return slugs.flatMap((slug, index) => {
    if (known.has(slug)) return [];
    const near = nearMatches(slug, known);
    const hint =
      near.length > 0 ? `did you mean ${near.join(" or ")}?` : "GET /tools lists those that you can use.";
    return [
      { message: `No tool has the slug ${slug}; ${hint}`, path: `connections[${index}]`, line: 1, column: 1 },
    ];
  });
}
