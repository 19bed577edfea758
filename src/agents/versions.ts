import type { Queryable, Tx } from "../platform/db/index.ts";
import type { Problem } from "./problem.ts";
import { invalidDraft, unknownAgent, unknownVersion } from "./refusals.ts";
import { findAgents, findCatalog, holdCatalog } from "./store.ts";
import {
  findEqualVersion,
  findVersion,
  insertVersion,
  latestNumbers,
  listVersions,
  setStable,
  stableVersions,
  type VersionRow,
} from "./version-store.ts";

/** The eval file of a draft. `sha` is the SHA-256 of its text. */
type EvalFileState =
  | { kind: "none" }
  | { kind: "valid"; sha: string }
  | { kind: "broken"; problems: Problem[] };

/** A valid draft: the agent's files at the commit that the catalog shows. */
export interface Draft {
  agent: string;
  framework: string;
  specSha: string;
  evals: EvalFileState;
  commitSha: string;
  /** Epoch milliseconds of the last good look at the repository when later ones failed; null when up to date. */
  staleSince: number | null;
}

/** What never changes of a numbered version. */
interface SnapshotContent {
  agent: string;
  framework: string;
  specSha: string;
  /** Null when the draft had no eval file. */
  evalSha: string | null;
  /** The suite that opened the gate. */
  evalId: string | null;
  commitSha: string;
  /** Login. */
  promotedBy: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** A numbered version. Numbers of an agent count from 1 without gaps. */
export interface Snapshot extends SnapshotContent {
  number: number;
  stable: boolean;
}

/**
 * The draft of an agent. Throws 404 when the repository has no such agent, 422 with the problems when its spec
 * is broken or several files claim its name.
 */
export async function readDraft(q: Queryable, workspaceId: string, name: string): Promise<Draft> {
  const [row, ...rivals] = await findAgents(q, workspaceId, [name]);
  const catalog = await findCatalog(q, workspaceId);
  if (!row || !catalog) throw unknownAgent(name);
  if (rivals.length > 0 || row.valid === 0 || row.spec_sha === null)
    throw invalidDraft(name, JSON.parse(row.problems));
  return {
    agent: name,
    framework: row.framework,
    specSha: row.spec_sha,
    evals: evalsOf(row),
    commitSha: catalog.commit_sha ?? row.commit_sha,
    staleSince: catalog.stale === 1 ? catalog.synced_at : null,
  };
}

function evalsOf(row: { has_evals: number; eval_sha: string | null; eval_problems: string }): EvalFileState {
  if (row.has_evals === 0) return { kind: "none" };
  const problems: Problem[] = JSON.parse(row.eval_problems);
  // A file whose text could not be read has a problem that says so, and no hash.
  if (problems.length > 0 || row.eval_sha === null) return { kind: "broken", problems };
  return { kind: "valid", sha: row.eval_sha };
}

/** Until the transaction ends no draft and no snapshot of the workspace changes but through it. */
export async function holdVersions(tx: Tx, workspaceId: string): Promise<void> {
  await holdCatalog(tx, workspaceId);
}

/** The stable snapshot of an agent, which outlives its draft. */
export async function findStable(
  q: Queryable,
  workspaceId: string,
  agent: string,
): Promise<Snapshot | undefined> {
  const [row] = await stableVersions(q, workspaceId, [agent]);
  return row && toSnapshot(row);
}

/**
 * Makes the snapshot with these two texts stable, or a new one when there is none yet. Call `holdVersions` before,
 * or numbers collide.
 */
export async function makeSnapshotStable(
  tx: Tx,
  workspaceId: string,
  content: SnapshotContent,
): Promise<Snapshot> {
  const { agent } = content;
  const equal = await findEqualVersion(tx, workspaceId, agent, content);
  const row = equal ?? (await addSnapshot(tx, workspaceId, content));
  await setStable(tx, workspaceId, agent, row.number);
  return { ...toSnapshot(row), stable: true };
}

async function addSnapshot(tx: Tx, workspaceId: string, content: SnapshotContent): Promise<VersionRow> {
  const { agent } = content;
  const latest = (await latestNumbers(tx, workspaceId, [agent])).get(agent) ?? 0;
  const row: VersionRow = {
    workspace_id: workspaceId,
    agent,
    number: latest + 1,
    framework: content.framework,
    spec_sha: content.specSha,
    eval_sha: content.evalSha,
    eval_id: content.evalId,
    commit_sha: content.commitSha,
    stable: 0,
    promoted_by: content.promotedBy,
    created_at: content.createdAt,
  };
  await insertVersion(tx, row);
  return row;
}

/** Makes an existing snapshot stable. Call `holdVersions` before. Throws 404 when there is no such number. */
export async function makeNumberStable(
  tx: Tx,
  workspaceId: string,
  agent: string,
  number: number,
): Promise<Snapshot> {
  const row = await findVersion(tx, workspaceId, agent, number);
  if (!row) throw unknownVersion(agent, number);
  await setStable(tx, workspaceId, agent, number);
  return { ...toSnapshot(row), stable: true };
}

/**
 * Snapshots of an agent, newest first, also of one whose file is gone; `before` is a number. Throws 404 for a name
 * that neither the repository nor any snapshot has.
 */
export async function listSnapshots(
  q: Queryable,
  workspaceId: string,
  agent: string,
  page: { limit: number; before: number | undefined },
): Promise<Snapshot[]> {
  const rows = await listVersions(q, workspaceId, agent, page);
  if (rows.length === 0 && !(await isKnown(q, workspaceId, agent))) throw unknownAgent(agent);
  return rows.map(toSnapshot);
}

async function isKnown(q: Queryable, workspaceId: string, agent: string): Promise<boolean> {
  const [claimant] = await findAgents(q, workspaceId, [agent]);
  return claimant !== undefined || (await latestNumbers(q, workspaceId, [agent])).has(agent);
}

function toSnapshot(row: VersionRow): Snapshot {
  return {
    agent: row.agent,
    number: row.number,
    stable: row.stable === 1,
    framework: row.framework,
    specSha: row.spec_sha,
    evalSha: row.eval_sha,
    evalId: row.eval_id,
    commitSha: row.commit_sha,
    promotedBy: row.promoted_by,
    createdAt: row.created_at,
  };
}
