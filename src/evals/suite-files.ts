import {
  type Agents,
  type DerivedAgent,
  type EvalCase,
  type Problem,
  parseEvalFile,
  type ReadAgentAt,
  type RunnableVersion,
} from "../agents/index.ts";
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
  cases: EvalCase[];
  evalSha: string;
}

export interface SuiteFilesDeps {
  agents: Agents;
  readAgentAt: ReadAgentAt;
}

/**
 * Finds the spec and the eval file of a suite: given texts first, then the files at the given commit, then the
 * catalog's draft (or the snapshot's spec). Throws 404 for an unknown agent or version, 422 with problems or
 * the reason when there is nothing to run, 503 when the repository cannot be read now.
 */
export function createSuiteFiles({ agents, readAgentAt }: SuiteFilesDeps) {
  async function find(workspaceId: string, request: SuiteRequest): Promise<SuiteFiles> {
    const { agent, version = "draft", spec, eval: evalText, commitSha } = request;
    if (version !== "draft" && (spec !== undefined || commitSha !== undefined))
      throw badRequest(
        "A snapshot has its own spec and commit; leave out spec and commitSha, or the version.",
      );
    const readsCommit = commitSha !== undefined && (spec === undefined || evalText === undefined);
    const pinned = readsCommit ? await agentAt(commitSha, agent) : undefined;
    return {
      version:
        spec !== undefined
          ? await givenVersion(workspaceId, agent, spec, commitSha)
          : pinned
            ? await pinnedVersion(pinned, commitSha ?? "")
            : await agents.resolve(workspaceId, agent, version),
      ...(evalText !== undefined
        ? casesOf(evalText, formatOf(evalText), "eval")
        : pinned
          ? pinnedCases(pinned)
          : await draftCases(workspaceId, agent)),
    };
  }

  /** What a suite of an agent that was read at that commit is made from. Throws 422 when it is not valid. */
  async function at(agent: DerivedAgent, commitSha: string): Promise<SuiteFiles> {
    return { version: await pinnedVersion(agent, commitSha), ...pinnedCases(agent) };
  }

  async function agentAt(commitSha: string, name: string): Promise<DerivedAgent> {
    const found = await readAgentAt(commitSha, name).catch((error) => {
      if (!(error instanceof RepositoryUnavailable)) throw error;
      if (error.reason === "unreachable" || error.reason === "rate_limited")
        throw unavailable("The repository cannot be read now; try again shortly.", 10);
      throw unprocessable(`The commit ${commitSha} cannot be read; check that the repository has it.`);
    });
    if (!found) throw unprocessable(`The commit ${commitSha} has no agent of this name.`);
    return found;
  }

  async function givenVersion(workspaceId: string, agent: string, text: string, commitSha?: string) {
    const format = formatOf(text);
    const { spec, problems } = agents.check(agent, text, format);
    if (!spec) throw invalid("spec", problems);
    return draftOf(spec, await agents.keep(text, format), commitSha ?? (await headOf(workspaceId)));
  }

  async function pinnedVersion({ spec, specText, format, problems }: DerivedAgent, commitSha: string) {
    if (!spec || specText === undefined) throw invalid("spec", problems);
    return draftOf(spec, await agents.keep(specText, format), commitSha);
  }

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

  return { find, at };
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
