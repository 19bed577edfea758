import { readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { type AgentOnDisk, findAgentsOnDisk, formatProblems, parseEvalFile } from "../agents/index.ts";
import { createBuiltinTools, createConnections } from "../connections/index.ts";
import { createDiskEvals, type DiskCase, unavailableTools } from "../evals/index.ts";
import { frameworkSpecs, loadFramework } from "../frameworks/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { exitCodeOf, UsageError } from "./command.ts";
import { formatEvalReport, formatJunit, type SuiteReport } from "./eval-report.ts";

const usage = `Usage: rollcall evals run PATH… [--junit FILE] [--judge-model PROVIDER/MODEL] [--concurrency N]

A path is a repository, its agents folder, a framework's folder, or the spec or eval file of one agent. Keys of model
providers come from the environment. Exit code: 0 all passed, 1 not all, 2 written wrongly.`;

/** Where the terminal is written to; `progress` replaces the last line, and is absent where nobody watches. */
export interface EvalsOutput {
  print(text: string): void;
  progress?(line: string): void;
  colour: boolean;
}

interface Options {
  paths: string[];
  junit: string | undefined;
  judgeModel: string | null;
  concurrency: number;
}

/** `rollcall evals run PATH…`: evaluates agents on disk, without a server. Returns the exit code. */
export async function evalsCommand(args: string[], config: Config, output: EvalsOutput): Promise<number> {
  let good = false;
  const code = await exitCodeOf(usage, output.print, async () => {
    good = await runEvals(optionsOf(args), config, output);
  });
  return code === 0 && !good ? 1 : code;
}

function optionsOf(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      junit: { type: "string" },
      "judge-model": { type: "string" },
      concurrency: { type: "string", default: "10" },
    },
  });
  const [verb, ...paths] = positionals;
  if (verb !== "run" || paths.length === 0) throw new UsageError();
  if (!/^[1-9]\d{0,2}$/.test(values.concurrency))
    throw new UsageError("--concurrency takes a number from 1 to 999.");
  return {
    paths,
    junit: values.junit,
    judgeModel: values["judge-model"] ?? null,
    concurrency: Number(values.concurrency),
  };
}

/** True when every case was run and has passed. */
async function runEvals(options: Options, config: Config, output: EvalsOutput): Promise<boolean> {
  const { found, sound } = await findSuites(options.paths, output);
  if (found.length === 0) {
    output.print("There is no agent with an eval file below these paths.");
    return false;
  }
  const suites = await evaluateAll(found, options, config, output);
  output.print(formatEvalReport(suites, output));
  if (options.junit !== undefined) await writeFile(options.junit, formatJunit(suites));
  const passed = suites.every(
    ({ cases, problem }) => problem === undefined && cases.every((each) => each.passed),
  );
  return passed && sound;
}

/** The agents with eval files below the paths, each once; what cannot be looked at is printed. */
async function findSuites(paths: readonly string[], { print }: EvalsOutput) {
  const found = new Map<string, AgentOnDisk>();
  let sound = true;
  for (const path of paths) {
    const { agents, problem } = await findAgentsOnDisk(path, frameworkSpecs);
    if (problem !== undefined) print(`${path}: ${problem}`);
    sound &&= problem === undefined;
    for (const each of agents) if (each.agent.hasEvals) found.set(resolve(each.specPath), each);
  }
  return { found: [...found.values()], sound };
}

async function evaluateAll(
  found: readonly AgentOnDisk[],
  { judgeModel, concurrency }: Options,
  { modelKeys }: Config,
  output: EvalsOutput,
): Promise<SuiteReport[]> {
  const total = found.reduce((sum, { agent }) => sum + (caseFile(agent)?.cases.length ?? 0), 0);
  const progress = countProgress(total, output);
  // Importing the libraries is no time of the agents'. What cannot be loaded is told by the cases that need it.
  const frameworks = new Set(found.flatMap(({ agent }) => agent.spec?.framework ?? []));
  await Promise.allSettled([...frameworks].map((id) => loadFramework(id)));
  const evals = createDiskEvals({ loadFramework, modelKeys, judgeModel, concurrency });
  try {
    return await Promise.all(found.map((each) => evaluateOne(each, evals, progress.ended, output)));
  } finally {
    progress.clear();
    await evals.close();
  }
}

async function evaluateOne(
  each: AgentOnDisk,
  evals: ReturnType<typeof createDiskEvals>,
  ended: (result: DiskCase) => void,
  output: EvalsOutput,
): Promise<SuiteReport> {
  const { agent, specPath, evalPath = specPath } = each;
  const report = { agent: agent.name, path: evalPath, cases: [] };
  const evalFile = caseFile(agent);
  if (!agent.spec || !evalFile) return { ...report, problem: problemsOf(each, output) };
  const connections = connectionsAt(rootOf(specPath));
  const missing = await unavailableTools(each, connections);
  if (missing.length > 0)
    return { ...report, problem: `The agent needs a server for its tools ${missing.join(", ")}.` };
  const otherSpec = async (name: string) => {
    const { agents } = await findAgentsOnDisk(join(rootOf(specPath), "agents"), frameworkSpecs);
    return agents.find((other) => other.agent.name === name)?.agent.spec;
  };
  const suite = { spec: agent.spec, evalFile, connections, otherSpec };
  return { ...report, cases: await evals.evaluate(suite, ended) };
}

function caseFile({ evalPath = "", evalText, evalProblems }: AgentOnDisk["agent"]) {
  if (evalText === undefined || evalProblems.length > 0) return undefined;
  return parseEvalFile(evalText, evalPath.endsWith(".json") ? "json" : "yaml").evalFile;
}

/** Prints the problems of both files with their places and says so in a sentence. */
function problemsOf({ agent, specPath, evalPath = specPath }: AgentOnDisk, output: EvalsOutput): string {
  const files = [
    { path: specPath, problems: agent.problems, text: agent.specText },
    { path: evalPath, problems: agent.evalProblems, text: agent.evalText },
  ];
  for (const file of files) if (file.problems.length > 0) output.print(`${formatProblems(file, output)}\n`);
  return "The files have problems; see above.";
}

/** The root of the repository that a spec lies in: two folders above the agents folder's content. */
const rootOf = (specPath: string) => resolve(dirname(specPath), "..", "..");

function connectionsAt(root: string) {
  const readFileBelow = async (_workspace: string, _commit: string, path: string, maxBytes: number) => {
    const real = await realpath(join(root, path)).catch(() => undefined);
    // A link must not lead out of the repository: the model chooses the path.
    if (real === undefined || relative(await realpath(root), real).split(sep)[0] === "..") return undefined;
    const bytes = await readFile(real).catch(() => undefined);
    return bytes && bytes.length <= maxBytes ? bytes : undefined;
  };
  return createConnections([createBuiltinTools({ clock: systemClock, readFile: readFileBelow })]);
}

function countProgress(total: number, { progress }: EvalsOutput) {
  let done = 0;
  let failed = 0;
  const show = () => progress?.(`${done} of ${total} cases${failed > 0 ? `, ${failed} failed` : ""}`);
  show();
  return {
    ended(result: DiskCase) {
      done += 1;
      if (!result.passed) failed += 1;
      show();
    },
    clear: () => progress?.(""),
  };
}
