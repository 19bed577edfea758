import type { Queryable, Tx } from "../platform/db/index.ts";

/** A row of `agent_versions`: an immutable snapshot of an agent. Only `stable` ever changes. */
export interface VersionRow {
  workspace_id: string;
  agent: string;
  number: number;
  framework: string;
  spec_sha: string;
  /** SHA-256 of the eval file's text; null without one. */
  eval_sha: string | null;
  /** The suite that opened the gate; null when there was none to pass. */
  eval_id: string | null;
  commit_sha: string;
  stable: number;
  promoted_by: string;
  created_at: number;
}

export async function stableVersions(
  q: Queryable,
  workspaceId: string,
  agents: readonly string[],
): Promise<VersionRow[]> {
  return q("agent_versions").where({ workspace_id: workspaceId, stable: 1 }).whereIn("agent", agents);
}

export async function findVersion(
  q: Queryable,
  workspaceId: string,
  agent: string,
  number: number,
): Promise<VersionRow | undefined> {
  return q("agent_versions").where({ workspace_id: workspaceId, agent, number }).first();
}

/** The newest snapshot's number of each agent that has one. */
export async function latestNumbers(
  q: Queryable,
  workspaceId: string,
  agents: readonly string[],
): Promise<Map<string, number>> {
  const rows: { agent: string; latest: number }[] = await q("agent_versions")
    .where({ workspace_id: workspaceId })
    .whereIn("agent", agents)
    .groupBy("agent")
    .select("agent")
    .max({ latest: "number" });
  return new Map(rows.map((row) => [row.agent, Number(row.latest)]));
}

/** Newest first; `before` is the number of the last one of the page before. */
export async function listVersions(
  q: Queryable,
  workspaceId: string,
  agent: string,
  { limit, before }: { limit: number; before: number | undefined },
): Promise<VersionRow[]> {
  const query = q("agent_versions")
    .where({ workspace_id: workspaceId, agent })
    .orderBy("number", "desc")
    .limit(limit);
  return before === undefined ? query : query.where("number", "<", before);
}

/** The newest snapshot of exactly these two texts. */
export async function findEqualVersion(
  q: Queryable,
  workspaceId: string,
  agent: string,
  { specSha, evalSha }: { specSha: string; evalSha: string | null },
): Promise<VersionRow | undefined> {
  return q("agent_versions")
    .where({ workspace_id: workspaceId, agent, spec_sha: specSha, eval_sha: evalSha })
    .orderBy("number", "desc")
    .first();
}

export async function insertVersion(tx: Tx, row: VersionRow): Promise<void> {
  await tx("agent_versions").insert(row);
}

/** Makes this snapshot the one that is stable. */
export async function setStable(tx: Tx, workspaceId: string, agent: string, number: number): Promise<void> {
  const ofAgent = { workspace_id: workspaceId, agent };
  await tx("agent_versions")
    .where({ ...ofAgent, stable: 1 })
    .update({ stable: 0 });
  await tx("agent_versions")
    .where({ ...ofAgent, number })
    .update({ stable: 1 });
}
