import { join, relative, resolve } from "node:path";
import { type Annotation, annotate } from "./annotate.ts";
import { changedFiles } from "./changed-files.ts";
import { listAgents } from "./checkout.ts";
import { createClient } from "./client.ts";
import { evaluateAgent } from "./evaluate-agent.ts";
import { readEvent } from "./event.ts";
import { type FailOn, readInputs } from "./inputs.ts";
import { fault, type Outcome, suiteOutput } from "./outcome.ts";
import { logLine, plain } from "./plain-text.ts";
import { selectAgents } from "./select-agents.ts";
import { summarise } from "./summary.ts";

/** The runner, as far as the action uses it. */
export interface Runner {
  getInput(name: string): string;
  setSecret(text: string): void;
  setOutput(name: string, value: string): void;
  info(line: string): void;
  /** Shows an error at a place of the checkout; `file` is relative to the workspace. */
  annotate(annotation: Annotation): void;
  writeSummary(markdown: string): Promise<void>;
  setFailed(message: string): void;
}

export interface Surroundings {
  /** The checkout's root. */
  workspace: string;
  /** Id of the commit that the event names. */
  sha: string;
  /** Payload of the event. */
  event: unknown;
  now(): number;
  sleep(ms: number): Promise<void>;
  random(): number;
}

/** Suites at the same time. */
const concurrency = 8;

/** Evaluates the chosen agents and tells the runner what came of it. Never throws. */
export async function evaluateCheckout(runner: Runner, surroundings: Surroundings): Promise<void> {
  try {
    // Before anything else that could write it.
    const key = runner.getInput("api-key");
    if (key !== "") runner.setSecret(key);
    const inputs = readInputs(runner.getInput);
    const directory = resolve(surroundings.workspace, inputs.workingDirectory);
    const outcomes = await evaluate(runner, surroundings, inputs, directory);
    await report(runner, outcomes, relative(surroundings.workspace, directory), inputs.failOn);
  } catch (error) {
    runner.setOutput("passed", "false");
    runner.setFailed(plain(error instanceof Error ? error.message : String(error), 1_000));
  }
}

async function evaluate(
  runner: Runner,
  { event, sha, now, sleep, random }: Surroundings,
  { agents, apiKey, baseUrl, timeoutMs, wait }: ReturnType<typeof readInputs>,
  directory: string,
): Promise<Outcome[]> {
  const deadline = now() + timeoutMs;
  const { headSha: commitSha, base } = readEvent(event, sha);
  const all = await listAgents(directory);
  const selected = await selectAgents(all, agents, () => changedFiles(directory, base));
  runner.info(`${selected.length} of ${all.length} agents are chosen.`);
  const client = createClient({ baseUrl, apiKey, deadline, now, sleep, random });
  const isLate = () => now() >= deadline;
  return inParallel(selected, (files) =>
    evaluateAgent(files, { client, directory, commitSha, wait, isLate }),
  );
}

async function report(
  runner: Runner,
  outcomes: readonly Outcome[],
  folder: string,
  failOn: FailOn,
): Promise<void> {
  const suites = outcomes.flatMap((outcome) => suiteOutput(outcome) ?? []);
  const faulty = outcomes.filter((outcome) => fault(outcome) !== undefined);
  runner.setOutput("passed", String(suites.every(({ status }) => status === "passed")));
  runner.setOutput("suites", JSON.stringify(suites));
  runner.setOutput("failed-agents", JSON.stringify(faulty.map(({ agent }) => agent)));
  for (const outcome of outcomes) {
    const result = outcome.kind === "skipped" ? `skipped, ${outcome.reason}` : suiteOutput(outcome)?.status;
    runner.info(logLine(`Agent ${outcome.agent}: ${result}`));
    for (const annotation of annotate(outcome)) {
      const { file } = annotation;
      runner.annotate(file === undefined ? annotation : { ...annotation, file: join(folder, file) });
    }
  }
  await runner.writeSummary(summarise(outcomes));
  const failing = faulty.filter((outcome) => failOn === "failed" || fault(outcome) === "error");
  if (failOn === "never" || failing.length === 0) return;
  runner.setFailed(
    plain(`The evals of ${failing.map(({ agent }) => agent).join(", ")} did not pass; see the annotations.`),
  );
}

/** Keeps the order of `items`. After the first error, which is thrown, nothing more is begun. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const lanes = Array.from({ length: Math.min(concurrency, items.length) }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, item] = next;
      try {
        results[index] = await work(item);
      } catch (error) {
        queue.length = 0;
        throw error;
      }
    }
  });
  await Promise.all(lanes);
  return results;
}
