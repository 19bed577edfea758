import type { AgentOnDisk, EvalCase, EvalFile } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import {
  type AgentSpec,
  describeFailure,
  type FrameworkRunner,
  type Participant,
  RunFailure,
} from "../frameworks/index.ts";
import { costUsd, type ModelConnection, type ModelKeys, resolveModel } from "../models/index.ts";
import { addUsd, checkSpecBudget } from "../runs/index.ts";
import type { AssertionResult } from "./assertions.ts";
import { createCheckPool } from "./check-pool.ts";
import { demands, type EndedRun, evaluateRun } from "./evaluate.ts";
import { createJudge, type Opinion } from "./judge.ts";

/** What a case of an eval file on disk came to. */
export interface DiskCase {
  name: string;
  passed: boolean;
  /** Runs that passed, and how many there were. */
  passedRuns: number;
  runs: number;
  /** Of the first run that failed, else of the first one. */
  assertions: readonly AssertionResult[];
  /** Undefined for a case that is not judged. */
  opinion: Opinion | undefined;
  /** Of the longest run. */
  durationMs: number;
  /** Of all runs; null when a price is not known. */
  costUsd: number | null;
}

/** An agent on disk together with its eval file, both without problems. */
export interface DiskSuite {
  spec: AgentSpec;
  evalFile: EvalFile;
  /** Its tools; those that work without a member's authorisation. */
  connections: Connections;
  /** The spec of another agent in the same repository; undefined when there is none without problems. */
  otherSpec(name: string): Promise<AgentSpec | undefined>;
}

export interface DiskEvalsDeps {
  loadFramework(id: string): Promise<FrameworkRunner>;
  modelKeys: ModelKeys;
  /** Null: rubrics are not scored. */
  judgeModel: string | null;
  /** Runs at the same time. */
  concurrency: number;
}

interface RunResult {
  passed: boolean;
  assertions: readonly AssertionResult[];
  opinion: Opinion | undefined;
  durationMs: number;
  costUsd: number | null;
}

/** Nobody is signed in on the command line; tools that ask who it is are not available there. */
const nobody = { workspaceId: "", login: "" };

/**
 * Evaluates agents on disk without a server or a database, as a server would: the same checks, the same judge.
 * Call `close` at the end.
 */
export function createDiskEvals(deps: DiskEvalsDeps) {
  const checks = createCheckPool();
  const askJudge = createJudge(deps);
  const slot = createSlots(deps.concurrency);

  /** Runs all cases side by side. `ended` is told of each case once it is decided. */
  async function evaluate(suite: DiskSuite, ended: (result: DiskCase) => void): Promise<DiskCase[]> {
    return Promise.all(
      suite.evalFile.cases.map(async (evalCase) => {
        const { repeats, minPass } = demands(evalCase);
        const results = await Promise.all(
          Array.from({ length: repeats }, () => slot(() => runOnce(suite, evalCase))),
        );
        const result = sumUp(evalCase.name, results, minPass);
        ended(result);
        return result;
      }),
    );
  }

  async function runOnce(suite: DiskSuite, evalCase: EvalCase): Promise<RunResult> {
    const startedAt = performance.now();
    const seen = { toolCalls: [] as string[], costUsd: 0 as number | null };
    const end = await outputOf(suite, evalCase.input, seen).then(
      (output): EndedRun => ({
        failure: undefined,
        evidence: { ...seen, output, durationMs: Math.round(performance.now() - startedAt) },
      }),
      (error): EndedRun => ({ failure: sentenceOf(error) }),
    );
    const durationMs = Math.round(performance.now() - startedAt);
    const { passed, assertions } = await evaluateRun(evalCase, end, checks);
    const opinion = end.failure === undefined ? await opinionOn(evalCase, end.evidence.output) : undefined;
    return { passed, assertions, opinion, durationMs, costUsd: seen.costUsd };
  }

  async function outputOf(
    suite: DiskSuite,
    message: string,
    seen: { toolCalls: string[]; costUsd: number | null },
  ): Promise<string> {
    const { spec } = suite;
    const runFramework = await deps.loadFramework(spec.framework);
    const { output } = await runFramework({
      ...(await participant(suite, spec)),
      message,
      reach: {
        model: async (ref) => modelOf(ref),
        agent: async (name) => {
          const other = await suite.otherSpec(name);
          if (!other) throw new RunFailure("invalid_spec", `The agent ${name} is missing or has problems.`);
          return participant(suite, other);
        },
      },
      signal: AbortSignal.timeout(spec.parameters.timeoutSeconds * 1_000),
      emit: (event) => {
        if (event.type === "tool.called") seen.toolCalls.push(event.tool);
      },
      async spend(usage, model) {
        const cost = costUsd(model, usage);
        seen.costUsd = cost === null || seen.costUsd === null ? null : addUsd(seen.costUsd, cost);
        checkSpecBudget(spec.budget, seen.costUsd ?? 0);
      },
    });
    return output;
  }

  async function participant({ connections }: DiskSuite, spec: AgentSpec): Promise<Participant> {
    const model = modelOf(spec.model);
    const [missing] = await connections.missing(nobody, spec.connections);
    if (missing) throw new RunFailure("connection_missing", `Not connected: ${missing.slugs.join(", ")}.`);
    return { spec, model, tools: await connections.prepare(spec.connections, { ...nobody, commitSha: "" }) };
  }

  function modelOf(ref: string): ModelConnection {
    const resolved = resolveModel(ref, deps.modelKeys);
    if (!resolved.ok) throw new RunFailure("model_not_configured", resolved.reason);
    return resolved.model;
  }

  async function opinionOn({ judge, input }: EvalCase, output: string): Promise<Opinion | undefined> {
    if (!judge || output === "") return undefined;
    const judged = { rubric: judge.rubric, input, output };
    if (deps.judgeModel === null) return { passed: null, reason: "No judge model was given." };
    const { judgeModel: model, modelKeys: keys } = deps;
    return askJudge(judged, { model, keys, signal: new AbortController().signal, spent() {} });
  }

  return { evaluate, close: checks.close };
}

/** Slugs of tools that need a server, because a member has to have authorised them. */
export async function unavailableTools(
  { agent }: AgentOnDisk,
  connections: Connections,
): Promise<readonly string[]> {
  const missing = await connections.missing(nobody, agent.spec?.connections ?? []);
  return missing.flatMap(({ slugs }) => slugs);
}

function sumUp(name: string, results: readonly RunResult[], minPass: number): DiskCase {
  const passedRuns = results.filter(({ passed }) => passed).length;
  const shown = results.find(({ passed }) => !passed) ?? results[0];
  const costs = results.map((result) => result.costUsd);
  return {
    name,
    passed: passedRuns >= minPass,
    passedRuns,
    runs: results.length,
    assertions: shown?.assertions ?? [],
    opinion: shown?.opinion,
    durationMs: Math.max(...results.map(({ durationMs }) => durationMs)),
    costUsd: costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
  };
}

/** Whoever has the files on disk may read the raw cause as well. */
function sentenceOf(error: unknown): string {
  if (error instanceof RunFailure) return error.details ? `${error.message} ${error.details}` : error.message;
  if (error instanceof DOMException && error.name === "TimeoutError")
    return describeFailure("timeout").message;
  throw error;
}

/** Lets so many pieces of work go on at the same time, the others wait in order. */
function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken >= count) await new Promise<void>((resolve) => waiting.push(resolve));
    else taken += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else taken -= 1;
    }
  };
}
