import { setTimeout as sleep } from "node:timers/promises";
import { aiSdk } from "./ai-sdk/index.ts";
import { RunFailure } from "./failure.ts";
import { langgraph } from "./langgraph/index.ts";
import { openaiAgents } from "./openai-agents/index.ts";
import type { Framework, FrameworkDeps, FrameworkRunner } from "./types.ts";

export { describeFailure, type FailureCode, failureCodes, RunFailure } from "./failure.ts";
export { AgentName, type AgentSpec, AgentSpecBase, ToolSlug } from "./spec.ts";
export type { FrameworkRun, FrameworkRunner, Participant, RunReach, RunTool, TraceEvent } from "./types.ts";

/** Every framework. Adding one is a folder and a line here. */
export const frameworks: readonly Framework[] = [aiSdk, openaiAgents, langgraph];

/** The schema that a spec has to fit, by framework. */
export const frameworkSpecs: ReadonlyMap<string, Framework["spec"]> = new Map(
  frameworks.map(({ id, spec }) => [id, spec]),
);

const systemDeps: FrameworkDeps = {
  random: Math.random,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  liveTextMs: 400,
};

/**
 * Gets a framework ready to execute runs. The first call for one imports its library (about 100 ms), later
 * ones cost microseconds. Throws RunFailure `invalid_spec` when there is no such framework.
 */
export async function loadFramework(id: string, deps: FrameworkDeps = systemDeps): Promise<FrameworkRunner> {
  const framework = frameworks.find((candidate) => candidate.id === id);
  if (!framework) throw new RunFailure("invalid_spec", `There is no framework "${id}".`);
  return framework.load(deps);
}
