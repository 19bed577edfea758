import {
  type Agents,
  type DerivedAgent,
  draftsBeside,
  type EvalCase,
  handoffsOf,
  type Problem,
  parseEvalFile,
  type ReadAgentAt,
  type ReadBesideAt,
  type RunnableVersion,
} from "../agents/index.ts";
import type { AgentSpec } from "../frameworks/index.ts";
import { badRequest, unavailable, unprocessable } from "../platform/errors.ts";
import { sha256 } from "../platform/secrets.ts";
import { RepositoryUnavailable } from "../repositories/index.ts";

/** Which texts a suite is to be made from. */
export interface SuiteRequest {
  agent: string;
  /** draft, stable or a snapshot's number; default draft. */
  version?: string | undefined;
  spec?: string | undefined;
  eval?: string | undefined;
  commitSha?: string | undefined;
}

/** What a suite is made from. */
export interface SuiteFiles {
  version: RunnableVersion;
  /** Slugs of the tools of its runs: the agent's own, and those of agents that it can hand off to. */
  connections: readonly string[];
  /** Its runs can come to other agents, whose texts are no part of what a suite is known by. */
  handsOff: boolean;
  cases: EvalCase[];
  evalSha: string;
}

type Sound = Pick<SuiteFiles, "version" | "connections" | "handsOff">;

export interface SuiteFilesDeps {
  agents: Agents;
  readAgentAt: ReadAgentAt;
  readBesideAt: ReadBesideAt;
}

/**
 * Finds the spec and the eval file of a suite: given texts first, then the files at the given commit, then the
 * catalog's draft (or the snapshot's spec). Throws 404 for an unknown agent or version, 422 with problems or
 * the reason when there is nothing to run, 503 when the repository cannot be read now.
 */
export function createSuiteFiles({ agents, readAgentAt, readBesideAt }: SuiteFilesDeps) {
  async function find(workspaceId: string, request: SuiteRequest): Promise<SuiteFiles> {
    const { agent, version = "draft", spec, eval: evalText, commitSha } = request;
    if (version !== "draft" && (spec !== undefined || commitSha !== undefined))
      throw badRequest(
        "A snapshot has its own spec and commit; leave out spec and commitSha, or the version.",
      );
    const readsCommit = commitSha !== undefined && (spec === undefined || evalText === undefined);
    const pinned = readsCommit ? await agentAt(commitSha, agent) : undefined;
    return {
      ...(spec !== undefined
        ? await givenVersion(workspaceId, agent, spec, commitSha)
        : pinned
          ? await pinnedVersion(pinned, commitSha ?? "")
          : await catalogVersion(workspaceId, agent, version)),
      ...(evalText !== undefined
        ? casesOf(evalText, formatOf(evalText), "eval")
        : pinned
          ? pinnedCases(pinned)
          : await draftCases(workspaceId, agent)),
    };
  }

  /**
   * What a suite of an agent that was read at that commit is made from. Throws 422 when it is not valid, and
   * RepositoryUnavailable.
   */
  async function at(agent: DerivedAgent, commitSha: string): Promise<SuiteFiles> {
    return { ...(await pinnedVersion(agent, commitSha)), ...pinnedCases(agent) };
  }

  async function agentAt(commitSha: string, name: string): Promise<DerivedAgent> {
    const found = await readAgentAt(commitSha, name);
    if (!found) throw unprocessable(`The commit ${commitSha} has no agent of this name.`);
    return found;
  }

  async function givenVersion(
    workspaceId: string,
    agent: string,
    text: string,
    commitSha?: string,
  ): Promise<Sound> {
    const format = formatOf(text);
    const { spec, problems } = agents.check(agent, text, format);
    if (!spec) throw invalid("spec", problems);
    const specSha = await agents.keep(text, format);
    if (commitSha === undefined)
      return withDrafts(workspaceId, spec, draftOf(spec, specSha, await headOf(workspaceId)));
    return withAgentsAt(spec, draftOf(spec, specSha, commitSha));
  }

  async function pinnedVersion(
    { spec, specText, format, problems }: DerivedAgent,
    commitSha: string,
  ): Promise<Sound> {
    if (!spec || specText === undefined) throw invalid("spec", problems);
    return withAgentsAt(spec, draftOf(spec, await agents.keep(specText, format), commitSha));
  }

  async function catalogVersion(workspaceId: string, agent: string, wanted: string): Promise<Sound> {
    const version = await agents.resolve(workspaceId, agent, wanted);
    // A spec that does not fit any more is the run's own failure.
    const spec = await agents.spec(version.specSha).catch(() => undefined);
    if (spec && version.version === "draft") return withDrafts(workspaceId, spec, version);
    const handsOff = spec !== undefined && handoffsOf(spec).length > 0;
    return { version, connections: version.connections, handsOff };
  }

  /** Runs of one suite come to the same agents, those of its commit, whatever is pushed meanwhile. */
  async function withAgentsAt(spec: AgentSpec, version: RunnableVersion): Promise<Sound> {
    const { commitSha } = version;
    const found = await readBesideAt(commitSha, spec);
    const kept = found.map(async (agent) => ({
      spec: agent.spec,
      specSha: await agents.keep(agent.specText, agent.format),
    }));
    return goingWith(spec, version, await Promise.all(kept));
  }

  const withDrafts = async (workspaceId: string, spec: AgentSpec, version: RunnableVersion) =>
    goingWith(spec, version, await draftsBeside(agents, workspaceId, spec));

  /** Tools that read the repository need a commit; the catalog's is as good as any for a text without one. */
  async function headOf(workspaceId: string): Promise<string> {
    const { commitSha } = await agents.catalog(workspaceId);
    if (commitSha === null) throw unavailable("The repository was not read yet; try again shortly.", 2);
    return commitSha;
  }

  async function draftCases(workspaceId: string, agent: string) {
    const evals = await agents.draftEvals(workspaceId, agent);
    if (!evals) throw noEvals();
    if (evals.text === null || evals.problems.length > 0) throw invalid("eval", evals.problems);
    return casesOf(evals.text, formatOfPath(evals.path), "eval");
  }

  return {
    find: (workspaceId: string, request: SuiteRequest): Promise<SuiteFiles> =>
      find(workspaceId, request).catch(unreadable(request.commitSha ?? "")),
    at,
  };
}

function pinnedCases({ evalPath, evalText, evalProblems }: DerivedAgent) {
  if (evalPath === undefined) throw noEvals();
  if (evalText === undefined || evalProblems.length > 0) throw invalid("eval", evalProblems);
  return casesOf(evalText, formatOfPath(evalPath), "eval");
}

function casesOf(text: string, format: "yaml" | "json", file: "eval") {
  const { evalFile, problems } = parseEvalFile(text, format);
  if (!evalFile) throw invalid(file, problems);
  return { cases: evalFile.cases, evalSha: sha256(text) };
}

function goingWith(
  spec: AgentSpec,
  version: RunnableVersion,
  others: readonly { spec: AgentSpec; specSha: string }[],
): Sound {
  if (handoffsOf(spec).length === 0) return { version, connections: version.connections, handsOff: false };
  const beside = Object.fromEntries(others.map((other) => [other.spec.name, other.specSha]));
  const slugs = [...version.connections, ...others.flatMap((other) => other.spec.connections)];
  return { version: { ...version, beside }, connections: [...new Set(slugs)], handsOff: true };
}

/** Makes what is thrown when a commit cannot be read, in words for whoever asked for it. */
const unreadable =
  (commitSha: string) =>
  (error: unknown): never => {
    if (!(error instanceof RepositoryUnavailable)) throw error;
    if (error.reason === "unreachable" || error.reason === "rate_limited")
      throw unavailable("The repository cannot be read now; try again shortly.", 10);
    throw unprocessable(`The commit ${commitSha} cannot be read; check that the repository has it.`);
  };

function draftOf(
  spec: { framework: string; connections: readonly string[] },
  specSha: string,
  commitSha: string,
): RunnableVersion {
  const { framework, connections } = spec;
  return { version: "draft", framework, connections, specSha, commitSha };
}

/** A text without a file name: what JSON accepts is JSON, as its author meant it. */
function formatOf(text: string): "yaml" | "json" {
  try {
    JSON.parse(text);
    return "json";
  } catch {
    return "yaml";
  }
}

const formatOfPath = (path: string) => (path.endsWith(".json") ? "json" : "yaml");

const noEvals = () =>
  unprocessable("The agent has no eval file; add <name>.eval.yaml beside its spec, or send eval.");

const invalid = (file: "spec" | "eval", problems: readonly Problem[]) =>
  unprocessable(
    `The ${file === "spec" ? "spec" : "eval file"} is not valid; correct the problems in details.`,
    {
      file,
      problems,
    },
  );
