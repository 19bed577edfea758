import type { ModelConnection, TokenUsage } from "../../models/index.ts";
import { RunFailure } from "../failure.ts";
import { callWithRetries } from "../retry.ts";
import { cleanDetails, explainError } from "./errors.ts";
import type { SdkModel } from "./language-model.ts";
import type { Session } from "./session.ts";
import type { Steps } from "./steps.ts";

export type Answer = Awaited<ReturnType<SdkModel["doGenerate"]>>;

export interface Metering {
  session: Session;
  /** Where the model's calls are steps. */
  steps: Steps;
  connection: ModelConnection;
  /** How often one call is repeated after it failed. */
  retries: number;
}

/**
 * Puts everything that a run wants to know about a model call around the SDK's client: the step's beginning,
 * retries, the budget, and whether the answer is one. It sits below the libraries because that is the only
 * place before they execute the tools that an answer asks for.
 */
export function meteredModel(model: SdkModel, metering: Metering): SdkModel {
  const { session, steps, connection, retries } = metering;
  const { run, deps, deadline } = session;
  const { maxSteps } = run.spec.parameters;
  const explain = (error: unknown) => explainError(error, connection);
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      run.signal.throwIfAborted();
      if (session.steps.count() >= maxSteps)
        throw new RunFailure("max_steps", `The run needs more than ${maxSteps} model calls.`);
      steps.begin();
      const place = steps.current();
      const onRetry = (retry: { attempt: number; waitMs: number; code: string }) =>
        run.emit({ type: "model.retried", ...place, ...retry });
      const policy = { retries, deadline, signal: run.signal, explain, onRetry };
      const answer = await callWithRetries(() => model.doGenerate(options), policy, deps);
      const usage = tokenUsage(answer);
      steps.answered(textOf(answer), usage);
      await run.spend(usage, connection);
      requireAnswer(answer, connection);
      if (place.step >= maxSteps && wantsTools(answer)) {
        // The tools are not executed: nobody would read their results, and what they change would stay.
        throw new RunFailure("max_steps", `The model asked for tools in step ${place.step} of ${maxSteps}.`);
      }
      // The SDK prints warnings to standard error.
      return { ...answer, warnings: [] };
    },
    doStream: (options) => model.doStream(options),
  };
}

function requireAnswer(answer: Answer, connection: ModelConnection): void {
  const { unified, raw } = answer.finishReason;
  const details = () =>
    cleanDetails(`${connection.ref}: finish reason ${raw ?? unified}\n${textOf(answer)}`, connection);
  switch (unified) {
    case "stop":
    case "tool-calls":
    case "length":
      return;
    case "content-filter":
      throw new RunFailure("model_refused", details());
    case "error":
    case "interrupted":
      throw new RunFailure("model_unavailable", details());
    case "other":
      if (textOf(answer) === "" && !wantsTools(answer)) throw new RunFailure("model_unavailable", details());
  }
}

function wantsTools({ content }: Answer): boolean {
  return content.some((part) => part.type === "tool-call" && !part.providerExecuted);
}

/** What an answer says, without its reasoning. */
export function textOf({ content }: Pick<Answer, "content">): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function tokenUsage({ usage }: Answer): TokenUsage {
  return {
    input: wholeNumber(usage.inputTokens.total),
    output: wholeNumber(usage.outputTokens.total),
    cached: wholeNumber(usage.inputTokens.cacheRead),
  };
}

/** Servers leave counts out or, seldom, send nonsense; a run's sums must stay whole numbers. */
function wholeNumber(count: number | undefined): number {
  return count !== undefined && Number.isFinite(count) && count > 0 ? Math.round(count) : 0;
}
