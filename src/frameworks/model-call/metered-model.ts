import type { ModelConnection, TokenUsage } from "../../models/index.ts";
import { RunFailure } from "../failure.ts";
import { callWithRetries } from "../retry.ts";
import type { StepRef } from "../types.ts";
import { cleanDetails, explainError } from "./errors.ts";
import { type Answer, textOf } from "./gather-answer.ts";
import { createLiveText } from "./live-text.ts";
import { readAnswer } from "./read-answer.ts";
import type { ModelClient, SdkCall, SdkModel } from "./sdk-types.ts";
import type { Session } from "./session.ts";
import type { Steps } from "./steps.ts";

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
 * retries, the budget, the text while it comes, and whether the answer is one. It sits below the libraries because
 * that is the only place before they execute the tools that an answer asks for. Providers are asked for streams,
 * libraries for whole answers.
 */
export function meteredModel(client: ModelClient, metering: Metering): SdkModel {
  const { session, steps, connection, retries } = metering;
  const { run, deps, deadline } = session;
  const { maxSteps } = run.spec.parameters;
  const explain = (error: unknown) => explainError(error, connection);

  /** One attempt at a call; another one begins from nothing. */
  async function ask(call: SdkCall, place: StepRef): Promise<Answer> {
    const send = (text: string) => run.emit({ type: "text.delta", ...place, text });
    const live = createLiveText(send, deps.liveTextMs);
    try {
      return await readAnswer(client, call, { url: connection.baseUrl ?? "", onText: live.add });
    } finally {
      live.end();
    }
  }

  return {
    specificationVersion: "v4",
    provider: client.provider,
    modelId: client.modelId,
    supportedUrls: client.supportedUrls,
    async doGenerate(options) {
      run.signal.throwIfAborted();
      if (session.steps.count() >= maxSteps)
        throw new RunFailure("max_steps", `The run needs more than ${maxSteps} model calls.`);
      steps.begin();
      const place = steps.current();
      const onRetry = (retry: { attempt: number; waitMs: number; code: string }) =>
        run.emit({ type: "model.retried", ...place, ...retry });
      const policy = { retries, deadline, signal: run.signal, explain, onRetry };
      const answer = await callWithRetries(() => ask(options, place), policy, deps);
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
    doStream: () => Promise.reject(new Error("Libraries are given whole answers.")),
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
