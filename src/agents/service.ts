import { type AgentSpec, RunFailure } from "../frameworks/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Database } from "../platform/db/index.ts";
import { badRequest, unprocessable } from "../platform/errors.ts";
import { sha256 } from "../platform/secrets.ts";
import type { DocumentFormat } from "./parse-document.ts";
import { type ParsedSpec, parseSpec, type SpecSchemas } from "./parse-spec.ts";
import { handoffsOfRow, presentAgent, presentCatalog } from "./present.ts";
import type { Problem } from "./problem.ts";
import { invalidDraft, unknownAgent, unknownVersion } from "./refusals.ts";
import type { Agent, AgentWithSpec, Catalog } from "./schema.ts";
import {
  countAgents,
  type DraftRow,
  findAgents,
  findCatalog,
  findDrafts,
  findOutlines,
  findSpec,
  keepSpecs,
  type ListedAgentRow,
  listAgents,
} from "./store.ts";
import { findVersion, latestNumbers, stableVersions, type VersionRow } from "./version-store.ts";

/** One version of an agent that a run can be made from. */
export interface RunnableVersion {
  /** draft, or the number of a snapshot. */
  version: string;
  framework: string;
  specSha: string;
  commitSha: string;
  /** Slugs of the tools it may call. */
  connections: readonly string[];
  /**
   * Spec hashes of the agents that a run of it can come to by handoffs, by name; undefined: those of the catalog, in
   * the versions that go with this one when the run comes to it.
   */
  beside?: Readonly<Record<string, string>>;
}

/** The eval file of an agent's draft. Without a text it could not be read; see the problems. */
export interface DraftEvals {
  path: string;
  text: string | null;
  problems: Problem[];
}

export interface AgentsDeps {
  db: Database;
  schemas: SpecSchemas;
  /** Slugs of the tools that a member may use. */
  knownSlugs(user: { workspaceId: string; login: string }): Promise<ReadonlySet<string>>;
}

type User = { workspaceId: string; login: string };

export type Agents = ReturnType<typeof createAgents>;

/** Parsed specs that are kept; each is the spec of one hash and never changes. */
const parsedLimit = 500;

export function createAgents({ db, schemas, knownSlugs }: AgentsDeps) {
  const parsed = new Map<string, AgentSpec>();
  const claimants = createBatchLoader((keys: readonly string[]) => loadClaimants(db, keys));

  async function list(user: User, limit: number, before: string | undefined) {
    const rows = await listAgents(
      db.read,
      user.workspaceId,
      limit + 1,
      before === undefined ? undefined : decodeCursor(before),
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      agents: await present(user, page),
      catalog: await catalog(user.workspaceId),
      nextBefore: rows.length > limit && last ? encodeCursor(last) : null,
    };
  }

  async function present(user: User, rows: readonly ListedAgentRow[]): Promise<Agent[]> {
    const names = rows.map((row) => row.name);
    const targets = rows.flatMap(handoffsOfRow).map((handoff) => handoff.name);
    const [slugs, outlines, stable, latest] = await Promise.all([
      knownSlugs(user),
      findOutlines(db.read, user.workspaceId, [...new Set(targets)]),
      stableVersions(db.read, user.workspaceId, names),
      latestNumbers(db.read, user.workspaceId, names),
    ]);
    const stableOf = new Map(stable.map((version) => [version.agent, version.number]));
    const known = new Map(outlines.map((row) => [row.name, { ...row, valid: row.valid === 1 }]));
    return rows.map((row) => {
      const versions = { stable: stableOf.get(row.name) ?? null, latest: latest.get(row.name) ?? null };
      return presentAgent(row, versions, slugs, known);
    });
  }

  async function get(user: User, name: string): Promise<AgentWithSpec> {
    const [row] = await findAgents(db.read, user.workspaceId, [name]);
    if (!row) throw unknownAgent(name);
    const [agent] = await present(user, [row]);
    if (!agent) throw unknownAgent(name);
    const last =
      row.valid === 0 && row.last_valid_sha ? await findSpec(db.read, row.last_valid_sha) : undefined;
    return {
      ...agent,
      format: row.format,
      spec: row.spec_text,
      ...(last ? { lastValidSpec: last.content } : {}),
    };
  }

  /** Throws 404 for an unknown agent, 422 for tools that its spec does not name. Null stands for all that it names. */
  async function requireTools(user: User, name: string, tools: readonly string[] | null): Promise<void> {
    const { connections } = await get(user, name);
    const foreign = tools?.filter((slug) => !connections.includes(slug)) ?? [];
    if (foreign.length > 0)
      throw unprocessable(`The agent ${name} does not name these tools; choose out of its connections.`, {
        tools: foreign,
      });
  }

  async function catalog(workspaceId: string): Promise<Catalog> {
    return presentCatalog(await findCatalog(db.read, workspaceId));
  }

  /**
   * The version that a run of `version` (default: stable, else draft) is made from. Throws 404 for an unknown
   * agent or snapshot, 422 when that version cannot be run.
   */
  async function resolve(
    workspaceId: string,
    name: string,
    version: string | undefined,
  ): Promise<RunnableVersion> {
    const found = await claimants(`${workspaceId}\n${name}`);
    if (!found) throw unknownAgent(name);
    const { draft, stable } = found;
    if (version === "draft" || (version === undefined && !stable)) return runnableDraft(name, draft);
    if (version === undefined || version === "stable") {
      if (stable) return snapshot(stable);
      throw unprocessable(
        `The agent ${name} has no stable version yet; promote its draft or ask for version draft.`,
      );
    }
    const numbered = await findVersion(db.read, workspaceId, name, Number(version));
    if (!numbered) throw unknownVersion(name, Number(version));
    return snapshot(numbered);
  }

  async function snapshot(row: VersionRow): Promise<RunnableVersion> {
    const { connections } = await spec(row.spec_sha).catch((error) => {
      if (!(error instanceof RunFailure)) throw error;
      throw unprocessable(
        `Version ${row.number} of ${row.agent} is not valid any more; promote its draft. ${error.details}`,
      );
    });
    return {
      version: String(row.number),
      framework: row.framework,
      specSha: row.spec_sha,
      commitSha: row.commit_sha,
      connections,
    };
  }

  /** The spec with that hash. Throws RunFailure `invalid_spec` when it no longer fits what this release accepts. */
  async function spec(sha: string): Promise<AgentSpec> {
    const known = parsed.get(sha);
    if (known) return known;
    const kept = await findSpec(db.read, sha);
    const result = kept && parseSpec(kept, schemas);
    if (!result?.spec)
      throw new RunFailure("invalid_spec", result?.problems[0]?.message ?? `No spec has the hash ${sha}.`);
    const [oldest] = parsed.keys();
    if (parsed.size >= parsedLimit && oldest !== undefined) parsed.delete(oldest);
    parsed.set(sha, result.spec);
    return result.spec;
  }

  /** The eval file of the draft; undefined when it has none. Throws 404 for an unknown agent. */
  async function draftEvals(workspaceId: string, name: string): Promise<DraftEvals | undefined> {
    const [row] = await findAgents(db.read, workspaceId, [name]);
    if (!row) throw unknownAgent(name);
    if (row.eval_path === null) return undefined;
    return { path: row.eval_path, text: row.eval_text, problems: JSON.parse(row.eval_problems) };
  }

  /** Checks a text as the spec of the agent of that name. Never throws. */
  const check = (name: string, content: string, format: DocumentFormat): ParsedSpec =>
    parseSpec({ content, format, name }, schemas);

  /** Keeps the text of a valid spec, so that runs can be made from it, and returns its hash. */
  async function keep(content: string, format: DocumentFormat): Promise<string> {
    const sha = sha256(content);
    if (!(await findSpec(db.read, sha)))
      await db.transaction((tx) => keepSpecs(tx, [{ sha, format, content }]));
    return sha;
  }

  const count = (workspaceId: string) => countAgents(db.read, workspaceId);

  return { list, get, requireTools, catalog, count, resolve, spec, draftEvals, check, keep, schemas };
}

interface Claimants {
  /** More than one when several files claim the name. */
  draft: DraftRow[];
  stable: VersionRow | undefined;
}

/** Keys are `workspace\nname`; requests of one moment mostly concern one workspace. */
async function loadClaimants(db: Database, keys: readonly string[]): Promise<Map<string, Claimants>> {
  const found = new Map<string, Claimants>();
  const wanted = keys.map((key) => key.split("\n") as [string, string]);
  for (const [workspaceId, pairs] of Map.groupBy(wanted, ([workspace]) => workspace)) {
    const names = pairs.map(([, name]) => name);
    const [rows, versions] = await Promise.all([
      findDrafts(db.read, workspaceId, names),
      stableVersions(db.read, workspaceId, names),
    ]);
    const stable = new Map(versions.map((version) => [version.agent, version]));
    for (const name of names) {
      const draft = rows.filter((row) => row.name === name);
      if (draft.length > 0) found.set(`${workspaceId}\n${name}`, { draft, stable: stable.get(name) });
    }
  }
  return found;
}

function runnableDraft(name: string, [row, ...others]: readonly DraftRow[]): RunnableVersion {
  if (!row || others.length > 0 || row.valid === 0 || row.spec_sha === null) {
    throw invalidDraft(name, row ? JSON.parse(row.problems) : []);
  }
  return {
    version: "draft",
    framework: row.framework,
    specSha: row.spec_sha,
    commitSha: row.head_sha,
    connections: JSON.parse(row.connections),
  };
}

const encodeCursor = ({ name, path_hash }: ListedAgentRow) =>
  Buffer.from(`${path_hash}${name}`).toString("base64url");

function decodeCursor(cursor: string): { name: string; pathHash: string } {
  const text = Buffer.from(cursor, "base64url").toString();
  if (!/^[0-9a-f]{64}./s.test(text)) throw badRequest("Use the nextBefore of the page before.");
  return { pathHash: text.slice(0, 64), name: text.slice(64) };
}
