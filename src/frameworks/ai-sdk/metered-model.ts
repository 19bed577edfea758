import type { ModelConnection, TokenUsage } from "../../models/index.ts";
import { RunFailure } from "../failure.ts";
import { callWithRetries } from "../retry.ts";
import type { FrameworkDeps, FrameworkRun } from "../types.ts";
import { cleanDetails, explainError } from "./errors.ts";
import type { SdkModel } from "./language-model.ts";
import type { Steps } from "./steps.ts";

type Answer = Awaited<ReturnType<SdkModel["doGenerate"]>>;

/**
 * Puts everything that a run wants to know about a model call around the SDK's client: the step's beginning,
 * retries, the budget, and whether the answer is one. It sits below `generateText` because that is the only
 * place before the SDK executes the tools that an answer asks for.
 */
export function meteredModel(
  model: SdkModel,
  { run, steps, deps, deadline }: { run: FrameworkRun; steps: Steps; deps: FrameworkDeps; deadline: number },
): SdkModel {
  const { spec, signal } = run;
  const explain = (error: unknown) => explainError(error, run.model);
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      steps.begin();
      const step = steps.current();
      const onRetry = (retry: { attempt: number; waitMs: number; code: string }) =>
        run.emit({ type: "model.retried", step, ...retry });
      const policy = { retries: spec.retries, deadline, signal, explain, onRetry };
      const answer = await callWithRetries(() => model.doGenerate(options), policy, deps);
      const usage = tokenUsage(answer);
      steps.answered(textOf(answer), usage);
      await run.spend(usage);
      requireAnswer(answer, run.model);
      if (step >= spec.parameters.maxSteps && wantsTools(answer)) {
        // The tools are not executed: nobody would read their results, and what they change would stay.
        throw new RunFailure("max_steps", `The model asked for tools in step ${step} of ${step}.`);
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

function textOf({ content }: Answer): string {
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
