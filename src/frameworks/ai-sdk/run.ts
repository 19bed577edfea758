import { generateText, isStepCount } from "ai";
import type { FrameworkDeps, FrameworkRun, FrameworkRunner } from "../types.ts";
import { explainError } from "./errors.ts";
import { languageModel } from "./language-model.ts";
import { meteredModel } from "./metered-model.ts";
import { createSteps, type Steps } from "./steps.ts";
import { toolSet } from "./tools.ts";

/** Real providers refuse an empty or blank user message. */
const insteadOfNothing = "Begin.";

const telemetry = { isEnabled: false };

/** OpenAI keeps answers on its servers by default; nothing here reads them again. */
const providerOptions = { openai: { store: false } };

/** Executes runs with `generateText`. See `Framework.load` for how runs fail. */
export function createRunner(deps: FrameworkDeps): FrameworkRunner {
  return async (run) => {
    run.signal.throwIfAborted();
    const stop = new AbortController();
    // Tools can end the run; without any there is nothing to combine, which most short runs are spared.
    const signal = run.tools.length === 0 ? run.signal : AbortSignal.any([run.signal, stop.signal]);
    const steps = createSteps(run.emit);
    try {
      const output = await generate({ ...run, signal }, steps, deps, (failure) => stop.abort(failure));
      signal.throwIfAborted();
      return { output };
    } catch (error) {
      steps.end();
      run.signal.throwIfAborted();
      throw explainError(error, run.model).failure;
    }
  };
}

async function generate(
  run: FrameworkRun,
  steps: Steps,
  deps: FrameworkDeps,
  fail: (failure: Error) => void,
): Promise<string> {
  const { spec, model, message, signal, emit } = run;
  const { temperature, maxOutputTokens, maxSteps, timeoutSeconds } = spec.parameters;
  const deadline = performance.now() + timeoutSeconds * 1_000;
  const result = await generateText({
    model: meteredModel(await languageModel(model), { run, steps, deps, deadline }),
    instructions: spec.instructions,
    prompt: model.protocol === "offline" || message.trim() !== "" ? message : insteadOfNothing,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(run.tools.length === 0 ? {} : { tools: toolSet(run.tools, { emit, steps, signal, fail }) }),
    stopWhen: isStepCount(maxSteps),
    maxRetries: 0,
    abortSignal: signal,
    providerOptions,
    telemetry,
    onStepEnd: ({ toolCalls }) => {
      for (const call of toolCalls) {
        if ("invalid" in call && call.invalid) reportRefusedCall(call, run, steps);
      }
      steps.end();
    },
  });
  return result.text;
}

/** A call of an unknown tool or with unfit arguments: the SDK tells the model, the trace tells the reader. */
function reportRefusedCall(
  call: { toolCallId: string; toolName: string; input: unknown; error?: unknown },
  { emit }: FrameworkRun,
  steps: Steps,
): void {
  const about = { step: steps.current(), callId: call.toolCallId, tool: call.toolName };
  const result = call.error instanceof Error ? call.error.message : String(call.error);
  emit({ type: "tool.called", ...about, args: call.input });
  emit({ type: "tool.finished", ...about, ok: false, result, durationMs: 0 });
}
