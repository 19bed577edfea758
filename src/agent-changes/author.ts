import { type FrameworkRunner, frameworkSpecs, RunFailure, type RunTool } from "../frameworks/index.ts";
import { costUsd, type ModelConnection, type TokenUsage } from "../models/index.ts";
import { addUsd } from "../runs/index.ts";
import type { Draft } from "./schema.ts";

/** Where the calls of a conversation are paid for. What it throws ends the conversation, as it is. */
export interface Till {
  /** Called before the first call. */
  start(): Promise<void>;
  /** Called after each call with what it cost, in dollars; 0 where the price is not known. */
  spent(usd: number): Promise<void>;
}

/** One conversation with the model that writes. */
export interface AuthorTask {
  model: ModelConnection;
  instructions: string;
  message: string;
  tools: readonly RunTool[];
  signal: AbortSignal;
  till: Till;
}

export interface Authored {
  /** What the model said at the end. */
  summary: string;
  usage: Draft["usage"];
}

export type Author = (task: AuthorTask) => Promise<Authored>;

const framework = "ai-sdk";

/** Model calls of one task: reading, writing two files, and several rounds of repair. */
const mostSteps = 24;
const timeLimitMs = 10 * 60_000;
const mostOutputTokens = 16_000;
/** Over all calls of a task. */
const mostTokens = 600_000;
const mostUsd = 3;

/**
 * Makes the function that has a model write with some tools, within limits of steps, time, tokens and money. Throws
 * RunFailure, what the till throws, or the signal's reason once it is aborted.
 */
export function createAuthor({
  loadFramework,
}: {
  loadFramework(id: string): Promise<FrameworkRunner>;
}): Author {
  return async ({ model, instructions, message, tools, signal, till }) => {
    const spec = frameworkSpecs.get(framework)?.parse({
      name: "author",
      framework,
      model: model.ref,
      instructions,
      parameters: {
        maxSteps: mostSteps,
        maxOutputTokens: mostOutputTokens,
        timeoutSeconds: timeLimitMs / 1_000,
      },
    });
    if (!spec) throw new RunFailure("internal", `There is no framework "${framework}".`);
    const usage: Draft["usage"] = { input: 0, output: 0, costUsd: 0 };
    let unpaid: unknown;
    await till.start();
    const limit = AbortSignal.timeout(timeLimitMs);
    const run = await loadFramework(framework);
    const { output } = await run({
      spec,
      message,
      model,
      tools,
      signal: AbortSignal.any([signal, limit]),
      emit() {},
      async spend(used) {
        const cost = costUsd(model, used);
        addUp(usage, used, cost);
        await till.spent(cost ?? 0).catch((error) => {
          unpaid = error;
          throw error;
        });
        if (usage.input + usage.output > mostTokens || (usage.costUsd ?? 0) > mostUsd)
          throw new RunFailure("budget_exceeded", `${usage.input + usage.output} tokens`);
      },
    }).catch((error) => {
      signal.throwIfAborted();
      if (unpaid !== undefined) throw unpaid;
      throw limit.aborted ? new RunFailure("timeout", `${timeLimitMs} ms`, { cause: error }) : error;
    });
    return { summary: output, usage };
  };
}

function addUp(sum: Draft["usage"], used: TokenUsage, cost: number | null): void {
  sum.input += used.input;
  sum.output += used.output;
  sum.costUsd = sum.costUsd === null || cost === null ? null : addUsd(sum.costUsd, cost);
}
