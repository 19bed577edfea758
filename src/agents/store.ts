import { alongIndex, type Queryable, type Tx } from "../platform/db/index.ts";
import { sha256 } from "../platform/secrets.ts";

/** A row of `catalogs`: what the workspace's catalog was read from, and when. */
export interface CatalogRow {
  workspace_id: string;
  repository: string;
  commit_sha: string | null;
  synced_at: number | null;
  stale: number;
  error: string | null;
  /** JSON of problems that belong to no agent. */
  problems: string;
  revision: number;
}

/** A row of `agents`. `problems`, `labels`, `connections` and `eval_problems` are JSON. */
export interface AgentRow {
  workspace_id: string;
  path_hash: string;
  path: string;
  name: string;
  agent_group: string;
  framework: string;
  format: "yaml" | "json";
  valid: number;
  problems: string;
  labels: string;
  connections: string;
  /** JSON of `PlacedHandoff`s; null for none. */
  handoffs: string | null;
  spec_text: string | null;
  spec_sha: string | null;
  last_valid_sha: string | null;
  eval_path: string | null;
  eval_text: string | null;
  eval_sha: string | null;
  eval_problems: string;
  has_evals: number;
  commit_sha: string;
  updated_at: number;
}

export interface MirroredFile {
  path: string;
  blobSha: string;
}

/** What a run of a draft is made from. */
export interface DraftRow
  extends Pick<AgentRow, "name" | "framework" | "valid" | "problems" | "connections" | "spec_sha"> {
  /** Commit that the catalog shows; the agent's own is the one that changed it last. */
  head_sha: string;
}

/** Everything that a list shows; the texts of specs and evals stay behind. */
const listColumns = [
  "path_hash",
  "path",
  "name",
  "framework",
  "format",
  "valid",
  "problems",
  "labels",
  "connections",
  "handoffs",
  "eval_problems",
  "has_evals",
  "commit_sha",
  "updated_at",
] as const;
export type ListedAgentRow = Pick<AgentRow, (typeof listColumns)[number]>;

const batch = 200;

/** Characters of one statement; MariaDB takes 16 MiB of bytes, and quoting can double them. */
const maxStatement = 2 * 1024 * 1024;

export async function findCatalog(q: Queryable, workspaceId: string): Promise<CatalogRow | undefined> {
  return q("catalogs").where({ workspace_id: workspaceId }).first();
}

/** The catalog, locked until the transaction ends; made when it is missing. */
export async function lockCatalog(tx: Tx, workspaceId: string, repository: string): Promise<CatalogRow> {
  const row = await holdCatalog(tx, workspaceId);
  if (row) return row;
  const fresh: CatalogRow = {
    workspace_id: workspaceId,
    repository,
    commit_sha: null,
    synced_at: null,
    stale: 1,
    error: null,
    problems: "[]",
    revision: 0,
  };
  // Another process may be making it at this moment.
  await tx("catalogs").insert(fresh).onConflict("workspace_id").ignore();
  return (await holdCatalog(tx, workspaceId)) ?? fresh;
}

/**
 * The catalog, locked until the transaction ends: no sync takes place meanwhile. Undefined before the first one.
 */
export async function holdCatalog(tx: Tx, workspaceId: string): Promise<CatalogRow | undefined> {
  return tx("catalogs").where({ workspace_id: workspaceId }).forUpdate().first();
}

export async function updateCatalog(tx: Tx, workspaceId: string, change: Partial<CatalogRow>): Promise<void> {
  await tx("catalogs").where({ workspace_id: workspaceId }).update(change);
}

export async function mirroredFiles(q: Queryable, workspaceId: string): Promise<MirroredFile[]> {
  return q("catalog_files")
    .where({ workspace_id: workspaceId })
    .select({ path: "path", blobSha: "blob_sha" });
}

/** Takes the paths out of the mirror and puts the files in. */
export async function replaceFiles(
  tx: Tx,
  workspaceId: string,
  gone: readonly string[],
  files: readonly MirroredFile[],
) {
  const hashes = [...gone, ...files.map((file) => file.path)].map(sha256);
  for (const some of chunks(hashes))
    await tx("catalog_files").where({ workspace_id: workspaceId }).whereIn("path_hash", some).delete();
  for (const some of chunks(files)) {
    await tx("catalog_files").insert(
      some.map(({ path, blobSha }) => ({
        workspace_id: workspaceId,
        path_hash: sha256(path),
        path,
        blob_sha: blobSha,
      })),
    );
  }
}

/** Forgets everything that came from a repository that is no longer connected. */
export async function clearCatalog(tx: Tx, workspaceId: string): Promise<void> {
  await tx("catalog_files").where({ workspace_id: workspaceId }).delete();
  await tx("agents").where({ workspace_id: workspaceId }).delete();
}

export async function agentsOfGroups(
  q: Queryable,
  workspaceId: string,
  groups: readonly string[],
): Promise<AgentRow[]> {
  const rows: AgentRow[] = [];
  for (const some of chunks(groups))
    rows.push(...(await q("agents").where({ workspace_id: workspaceId }).whereIn("agent_group", some)));
  return rows;
}

/** Puts the agents of whole groups in the place of what those groups held. */
export async function replaceAgents(
  tx: Tx,
  workspaceId: string,
  groups: readonly string[],
  agents: readonly AgentRow[],
) {
  for (const some of chunks(groups))
    await tx("agents").where({ workspace_id: workspaceId }).whereIn("agent_group", some).delete();
  const length = (agent: AgentRow) =>
    (agent.spec_text?.length ?? 0) +
    (agent.eval_text?.length ?? 0) +
    agent.problems.length +
    agent.eval_problems.length;
  for (const some of sizedChunks(agents, 50, length)) await tx("agents").insert(some);
}

/** Keeps spec texts by their hash; those that are kept already stay as they are. */
export async function keepSpecs(
  tx: Tx,
  specs: readonly { sha: string; format: string; content: string }[],
): Promise<void> {
  for (const some of sizedChunks(specs, batch, (spec) => spec.content.length))
    await tx("agent_specs").insert(some).onConflict("sha").ignore();
}

export async function findSpec(
  q: Queryable,
  sha: string,
): Promise<{ format: "yaml" | "json"; content: string } | undefined> {
  return q("agent_specs").where({ sha }).first("format", "content");
}

/** Agents in the order of their names. `after` is the position of the last one of the page before. */
export async function listAgents(
  q: Queryable,
  workspaceId: string,
  limit: number,
  after?: { name: string; pathHash: string },
): Promise<ListedAgentRow[]> {
  const query = alongIndex(q, "agents", "agents_name")
    .where({ workspace_id: workspaceId })
    .select<ListedAgentRow[]>(listColumns)
    .orderBy(["name", "path_hash"])
    .limit(limit);
  if (!after) return query;
  const { name, pathHash } = after;
  // Said twice: MySQL enters an index by the first of the two, but not by a comparison of pairs.
  return query.where("name", ">=", name).whereRaw("(name, path_hash) > (?, ?)", [name, pathHash]);
}

/** The files that claim a name, in the order of their paths; more than one are all invalid. */
export async function findAgents(
  q: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<AgentRow[]> {
  return q("agents").where({ workspace_id: workspaceId }).whereIn("name", names).orderBy("path");
}

/** The same with only what a run needs, and the commit that the catalog showed at that moment. */
export async function findDrafts(
  q: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<DraftRow[]> {
  return q("agents")
    .join("catalogs", "catalogs.workspace_id", "agents.workspace_id")
    .where("agents.workspace_id", workspaceId)
    .whereIn("agents.name", names)
    .orderBy("agents.path")
    .select(
      ...["name", "framework", "valid", "agents.problems", "connections", "spec_sha"],
      "catalogs.commit_sha as head_sha",
    );
}

/** What the agents of these names are, valid or not. */
export async function findOutlines(
  q: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<Pick<AgentRow, "name" | "framework" | "valid">[]> {
  if (names.length === 0) return [];
  return q("agents")
    .where({ workspace_id: workspaceId })
    .whereIn("name", names)
    .select("name", "framework", "valid");
}

export async function countAgents(
  q: Queryable,
  workspaceId: string,
): Promise<{ valid: number; invalid: number }> {
  const row = await q("agents")
    .where({ workspace_id: workspaceId })
    .count({ total: "*" })
    .sum({ valid: "valid" })
    .first();
  const valid = Number(row?.valid ?? 0);
  return { valid, invalid: Number(row?.total ?? 0) - valid };
}

function* chunks<T>(items: readonly T[], size = batch): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Chunks that hold `size` items and `maxStatement` characters at the most; an item is never split. */
function* sizedChunks<T>(items: readonly T[], size: number, lengthOf: (item: T) => number): Generator<T[]> {
  let chunk: T[] = [];
  let length = 0;
  for (const item of items) {
    const added = lengthOf(item);
    if (chunk.length > 0 && (chunk.length === size || length + added > maxStatement)) {
      yield chunk;
      chunk = [];
      length = 0;
    }
    chunk.push(item);
    length += added;
  }
  if (chunk.length > 0) yield chunk;
}
