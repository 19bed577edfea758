import type { Agents, RunnableVersion } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import { isDatabaseAway } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { type BrokenStart, brokenAgent, notConnected } from "../runs/index.ts";
import type { DueAutomation } from "./store.ts";

/** What an automation would start if it were started now. */
export type Target =
  | { kind: "ready"; version: RunnableVersion }
  /** The repository cannot be read at the moment. */
  | { kind: "away"; reason: string; diagnostics: string | undefined }
  /** The version when it is known what would be run. */
  | (BrokenStart & { version?: RunnableVersion });

export interface TargetDeps {
  agents: Pick<Agents, "resolve" | "catalog">;
  connections: Pick<Connections, "missing">;
  logger: Logger;
}

type Wanted = Pick<DueAutomation, "workspace_id" | "agent" | "target_version" | "owner">;

/** What is alike for automations of the same agent, version and owner. */
export const targetKey = ({ workspace_id, agent, target_version, owner }: Wanted) =>
  [workspace_id, agent, target_version, owner].join("\n");

/** The targets of automations by `targetKey`, each looked up once. Throws when the database is away. */
export async function resolveTargets(
  deps: TargetDeps,
  due: readonly Wanted[],
): Promise<ReadonlyMap<string, Target>> {
  const versions = new Map<string, Promise<Target>>();
  const catalogs = new Map<string, ReturnType<Agents["catalog"]>>();

  const catalogOf = (workspaceId: string) => {
    const known = catalogs.get(workspaceId) ?? deps.agents.catalog(workspaceId);
    catalogs.set(workspaceId, known);
    return known;
  };
  const versionOf = (wanted: Wanted) => {
    const key = targetKey({ ...wanted, owner: "" });
    const known = versions.get(key) ?? findVersion(deps, wanted, catalogOf(wanted.workspace_id));
    versions.set(key, known);
    return known;
  };

  const unique = new Map(due.map((wanted) => [targetKey(wanted), wanted]));
  return new Map(
    await Promise.all(
      [...unique].map(
        async ([key, wanted]) => [key, await withConnections(deps, wanted, await versionOf(wanted))] as const,
      ),
    ),
  );
}

async function findVersion(
  { agents }: TargetDeps,
  { workspace_id, agent, target_version }: Wanted,
  reading: ReturnType<Agents["catalog"]>,
): Promise<Target> {
  const catalog = await reading;
  const neverRead = catalog.syncedAt === null;
  // What was promoted is a snapshot and needs no repository; a draft is what the repository holds now.
  if (neverRead || (catalog.stale && target_version === "draft")) {
    const reason = "The repository cannot be read; the run starts when it can be read again.";
    return { kind: "away", reason, diagnostics: catalog.error };
  }
  try {
    return { kind: "ready", version: await agents.resolve(workspace_id, agent, target_version) };
  } catch (error) {
    // Which version is wanted is known here.
    const { version: _, ...broken } = brokenAgent(error);
    return broken;
  }
}

async function withConnections(
  { connections, logger }: TargetDeps,
  { workspace_id, owner }: Wanted,
  target: Target,
): Promise<Target> {
  if (target.kind !== "ready" || target.version.connections.length === 0) return target;
  const { version } = target;
  try {
    const missing = await connections.missing(
      { workspaceId: workspace_id, login: owner },
      version.connections,
    );
    if (missing.length === 0) return target;
    return { ...notConnected(owner, missing), version };
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    // Whether something is missing cannot be told now; the run finds out when it begins.
    logger.warn(
      { err: error, workspaceId: workspace_id },
      "connections of a scheduled run could not be checked",
    );
    return target;
  }
}
