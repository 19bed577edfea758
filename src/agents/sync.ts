import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../platform/clock.ts";
import { type Database, isAway } from "../platform/db/index.ts";
import { errorText } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { sha256 } from "../platform/secrets.ts";
import { type RepositoryReader, RepositoryUnavailable } from "../repositories/index.ts";
import { compareTrees, type TreeDifference } from "./compare-trees.ts";
import type { CatalogProblem, DerivedAgent, DerivedAgents } from "./derive-agents.ts";
import { deriveGroups } from "./derive-groups.ts";
import type { SpecSchemas } from "./parse-spec.ts";
import { readEntries } from "./read-at-commit.ts";
import { groupKey } from "./spec-path.ts";
import {
  type AgentRow,
  agentsOfGroups,
  type CatalogRow,
  clearCatalog,
  findCatalog,
  keepSpecs,
  lockCatalog,
  mirroredFiles,
  replaceAgents,
  replaceFiles,
  updateCatalog,
} from "./store.ts";

export interface CatalogSync {
  /** Brings the catalog to the head of the repository, or marks it stale. Never throws. */
  sync(): Promise<void>;
  /**
   * Reads the repository once more, because something says that it may have changed, and answers the commit that
   * the catalog shows then. One reading is under way at a time; what is asked for meanwhile shares the next one, which
   * begins after it. Throws what made the catalog stale, RepositoryUnavailable in most cases.
   */
  request(): Promise<string>;
  /** Syncs now and whenever the repository may have changed, until stopped. Settles after the first sync. */
  start(): Promise<void>;
  /** Calls the listener whenever this process has read the repository after a time in which that was not possible. */
  onFresh(listener: () => void): void;
  stop(): Promise<void>;
}

export interface SyncDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  reader: RepositoryReader;
  schemas: SpecSchemas;
  workspaceId: string;
}

/** How often a catalog that does not change has its `syncedAt` written. */
const confirmMs = 60_000;

/** Processes that sync at the same moment give way to one another; looks of one that always came second. */
const mostLooks = 5;

/** Problems without an agent that are kept; a repository with more has other worries. */
const mostProblems = 200;

export function createCatalogSync({
  db,
  clock,
  logger,
  reader,
  schemas,
  workspaceId,
}: SyncDeps): CatalogSync {
  const stopped = new AbortController();
  let loop: Promise<void> = Promise.resolve();
  let lastError: string | undefined;
  let fresh: () => void = () => {};
  let underway: Promise<string> | undefined;
  let following: Promise<string> | undefined;

  const sync = () =>
    request().then(
      () => {},
      () => {},
    );

  function request(): Promise<string> {
    if (underway === undefined) {
      underway = read().finally(() => {
        underway = undefined;
      });
      return underway;
    }
    const begin = () => {
      following = undefined;
      return request();
    };
    following ??= underway.then(begin, begin);
    return following;
  }

  async function read(): Promise<string> {
    try {
      for (let looks = 1; looks <= mostLooks; looks++) {
        const commitSha = await look();
        if (commitSha === undefined) continue;
        lastError = undefined;
        return commitSha;
      }
      throw new RepositoryUnavailable(
        "Other processes were always ahead in syncing the catalog: it is read again.",
        "incomplete",
      );
    } catch (error) {
      // The repository is as it was; who lost the database could not note anything either.
      if (!isAway(error)) await markStale(error);
      throw error;
    }
  }

  /** Undefined when another process was ahead, maybe with an older commit. */
  async function look(): Promise<string | undefined> {
    // Before the head: whoever changes the catalog meanwhile makes the revision differ.
    const catalog = await findCatalog(db.read, workspaceId);
    const commitSha = await reader.head();
    const same = catalog?.commit_sha === commitSha && catalog.repository === reader.label;
    if (same) await confirm(catalog);
    else if (!(await advance(catalog, commitSha))) return undefined;
    if (catalog === undefined || catalog.stale === 1 || catalog.synced_at === null) fresh();
    return commitSha;
  }

  async function confirm(catalog: CatalogRow): Promise<void> {
    const recent = clock() - (catalog.synced_at ?? 0) < confirmMs;
    if (recent && catalog.stale === 0) return;
    await db.transaction((tx) =>
      updateCatalog(tx, workspaceId, { synced_at: clock(), stale: 0, error: null }),
    );
  }

  async function advance(catalog: CatalogRow | undefined, commitSha: string): Promise<boolean> {
    const startedAt = performance.now();
    const sameRepository = catalog?.repository === reader.label;
    const mirrored = sameRepository ? await mirroredFiles(db.read, workspaceId) : [];
    const difference = compareTrees(mirrored, await reader.tree(commitSha));
    const derived = await deriveGroups(await readEntries(reader, difference.entries), schemas);
    const revision = catalog?.revision ?? 0;
    const applied = await apply({ commitSha, revision, difference, derived });
    if (!applied) return false;
    logger.info(
      {
        commitSha,
        files: difference.changed.length,
        removed: difference.gone.length,
        ms: Math.round(performance.now() - startedAt),
      },
      "catalog synced",
    );
    return true;
  }

  /** False when another process has synced meanwhile: what was compared with is no longer there. */
  async function apply(change: {
    commitSha: string;
    revision: number;
    difference: TreeDifference;
    derived: DerivedAgents;
  }): Promise<boolean> {
    const { commitSha, revision, difference, derived } = change;
    const { gone, changed } = difference;
    const groups = [...difference.groups];
    return db.transaction(async (tx) => {
      const catalog = await lockCatalog(tx, workspaceId, reader.label);
      if (catalog.revision !== revision) return false;
      if (catalog.repository !== reader.label) await clearCatalog(tx, workspaceId);
      const before = new Map((await agentsOfGroups(tx, workspaceId, groups)).map((row) => [row.path, row]));
      const rows = derived.agents.map((agent) =>
        toRow(agent, before.get(agent.path), { workspaceId, commitSha, now: clock() }),
      );
      await replaceFiles(tx, workspaceId, gone, changed);
      await replaceAgents(tx, workspaceId, groups, rows);
      await keepSpecs(tx, derived.agents.flatMap(specOf));
      const kept: CatalogProblem[] = catalog.repository === reader.label ? JSON.parse(catalog.problems) : [];
      const untouched = kept.filter((problem) => !difference.groups.has(groupKey(problem.path) ?? ""));
      await updateCatalog(tx, workspaceId, {
        repository: reader.label,
        commit_sha: commitSha,
        synced_at: clock(),
        stale: 0,
        error: null,
        problems: JSON.stringify(
          [...untouched, ...derived.catalogProblems].sort(byPath).slice(0, mostProblems),
        ),
        revision: revision + 1,
      });
      return true;
    });
  }

  /** What the catalog shows stays; only its age and the reason become visible. */
  async function markStale(error: unknown): Promise<void> {
    const expected = error instanceof RepositoryUnavailable;
    const text = expected
      ? error.message
      : "The catalog could not be synced; an admin finds the cause in the log.";
    // Said once, not at every look at a repository that stays away.
    if (lastError !== text)
      logger[expected ? "warn" : "error"]({ err: error, repository: reader.label }, "catalog is stale");
    lastError = text;
    try {
      const known = await findCatalog(db.read, workspaceId);
      if (known?.stale === 1 && known.error === text) return;
      await db.transaction(async (tx) => {
        await lockCatalog(tx, workspaceId, reader.label);
        await updateCatalog(tx, workspaceId, { stale: 1, error: text });
      });
    } catch (failure) {
      logger.warn(
        { err: failure },
        `the catalog's state could not be stored: ${errorText(failure).slice(0, 200)}`,
      );
    }
  }

  async function keepSyncing(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(reader.pollInterval, undefined, { signal: stopped.signal }).catch(() => {});
      if (!stopped.signal.aborted) await sync();
    }
  }

  return {
    sync,
    onFresh(listener) {
      fresh = listener;
    },
    request,
    async start() {
      await sync();
      loop = keepSyncing();
    },
    async stop() {
      stopped.abort();
      await loop;
    },
  };
}

/** The order of `deriveAgents`, in which nobody sees what an earlier sync found and what a later one. */
const byPath = (a: CatalogProblem, b: CatalogProblem) => (a.path < b.path ? -1 : 1);

function specOf({ spec, specText, format }: DerivedAgent) {
  return spec && specText !== undefined ? [{ sha: sha256(specText), format, content: specText }] : [];
}

function toRow(
  agent: DerivedAgent,
  before: AgentRow | undefined,
  { workspaceId, commitSha, now }: { workspaceId: string; commitSha: string; now: number },
): AgentRow {
  const specSha = agent.specText === undefined ? null : sha256(agent.specText);
  return {
    workspace_id: workspaceId,
    path_hash: sha256(agent.path),
    path: agent.path,
    name: agent.name,
    agent_group: groupKey(agent.path) ?? "",
    framework: agent.framework,
    format: agent.format,
    valid: agent.spec ? 1 : 0,
    problems: JSON.stringify(agent.problems),
    labels: JSON.stringify(agent.spec?.labels ?? []),
    connections: JSON.stringify(agent.spec?.connections ?? []),
    handoffs: agent.handoffs.length === 0 ? null : JSON.stringify(agent.handoffs),
    spec_text: agent.specText ?? null,
    spec_sha: specSha,
    last_valid_sha: agent.spec ? specSha : (before?.last_valid_sha ?? null),
    eval_path: agent.evalPath ?? null,
    eval_text: agent.evalText ?? null,
    eval_sha: agent.evalText === undefined ? null : sha256(agent.evalText),
    eval_problems: JSON.stringify(agent.evalProblems),
    has_evals: agent.hasEvals ? 1 : 0,
    commit_sha: commitSha,
    updated_at: now,
  };
}
