import { type CatalogSync, createCatalogSync } from "../../src/agents/index.ts";
import { frameworkSpecs } from "../../src/frameworks/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";
import { createLocalReader, type RepositoryReader } from "../../src/repositories/index.ts";
import type { TestRepository } from "./git-repository.ts";

/** A sync of one workspace's catalog, and what it did. */
export interface TestSync extends CatalogSync {
  /** Paths whose content was read, in each call for contents. */
  readonly read: string[][];
  /** Lines that were logged. */
  readonly lines: string[];
}

/** Adds a workspace and answers its id. */
export async function addWorkspace(db: Database, slug = "default"): Promise<string> {
  const id = `wsp_${slug}`;
  await db.transaction((tx) => tx("workspaces").insert({ id, slug, created_at: 1 }));
  return id;
}

/** Syncs from a repository with a reader whose parts `replace` takes the place of. */
export function createTestSync(
  db: Database,
  { gitdir }: Pick<TestRepository, "gitdir">,
  workspaceId: string,
  replace: (reader: RepositoryReader) => Partial<RepositoryReader> = () => ({}),
): TestSync {
  const local = createLocalReader({ path: gitdir });
  const reader = { ...local, ...replace(local) };
  const read: string[][] = [];
  const lines: string[] = [];
  const sync = createCatalogSync({
    db,
    clock: systemClock,
    logger: createLogger("debug", createRedactor(), { write: (line: string) => void lines.push(line) }),
    reader: {
      ...reader,
      blobs(requests, maxBytes) {
        read.push(requests.map((request) => request.path).sort());
        return reader.blobs(requests, maxBytes);
      },
    },
    schemas: frameworkSpecs,
    workspaceId,
  });
  return { ...sync, read, lines };
}

/** What the catalog of a workspace holds, without when and by which way it came to hold it. */
export async function catalogContent(db: Database, workspaceId: string) {
  const agents: Record<string, unknown>[] = await db
    .read("agents")
    .where({ workspace_id: workspaceId })
    .orderBy("path");
  const files = await db
    .read("catalog_files")
    .where({ workspace_id: workspaceId })
    .orderBy("path")
    .select("path", "path_hash", "blob_sha");
  const catalog = await db
    .read("catalogs")
    .where({ workspace_id: workspaceId })
    .first("repository", "commit_sha", "stale", "error", "problems");
  const ofHistory = ["workspace_id", "commit_sha", "updated_at", "last_valid_sha"];
  return {
    agents: agents.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => !ofHistory.includes(column))),
    ),
    files,
    catalog,
  };
}
