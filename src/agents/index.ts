export { type AgentOnDisk, findAgentsOnDisk } from "./agents-on-disk.ts";
export { createBesideReader, draftsBeside, type ReadBesideAt } from "./beside.ts";
export { caseLines } from "./case-lines.ts";
export { type ChangedAgent, type CompareCommits, createCommitComparison } from "./compare-commits.ts";
export type { DerivedAgent } from "./derive-agents.ts";
export { agentEndpoints } from "./endpoints.ts";
export { type EvalCase, type EvalFile, parseEvalFile } from "./eval-file.ts";
export { formatProblems, formatReport } from "./format-report.ts";
export { handoffsOf } from "./handoffs.ts";
export { agentJsonSchema, evalJsonSchema } from "./json-schemas.ts";
export { type Problem, printable } from "./problem.ts";
export { createCommitReader, type ReadAgentAt } from "./read-at-commit.ts";
export { VersionName } from "./schema.ts";
export { type Agents, createAgents, type RunnableVersion } from "./service.ts";
export { type CatalogSync, createCatalogSync } from "./sync.ts";
export { validatePaths } from "./validate-paths.ts";
export {
  type Draft,
  findStable,
  holdVersions,
  listSnapshots,
  makeNumberStable,
  makeSnapshotStable,
  readDraft,
  type Snapshot,
} from "./versions.ts";
