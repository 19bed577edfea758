import { generateText, isStepCount } from "ai";
import { languageModel } from "../model-call/language-model.ts";
import { meteredModel } from "../model-call/metered-model.ts";
import { providerOptions } from "../model-call/model-caller.ts";
import { createSessionRunner, messageOf, type Session, systemText } from "../model-call/session.ts";
import { reportRefusedCall } from "../model-call/tool-calls.ts";
import type { FrameworkDeps, FrameworkRunner } from "../types.ts";
import { toolSet } from "./tools.ts";

const telemetry = { isEnabled: false };

/** Executes runs with `generateText`. See `Framework.load` for how runs fail. */
export function createRunner(deps: FrameworkDeps): FrameworkRunner {
  return createSessionRunner(deps, generate, ({ tools }) => tools.length > 0);
}

async function generate(session: Session): Promise<string> {
  const { run } = session;
  const { spec, model: connection } = run;
  const { temperature, maxOutputTokens, maxSteps } = spec.parameters;
  const steps = session.steps.strand();
  const { retries } = spec;
  const result = await generateText({
    model: meteredModel(await languageModel(connection), { session, steps, connection, retries }),
    instructions: systemText(spec.instructions, run),
    prompt: messageOf(run),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(run.tools.length === 0 ? {} : { tools: toolSet(run.tools, { session, steps }) }),
    stopWhen: isStepCount(maxSteps),
    maxRetries: 0,
    abortSignal: run.signal,
    providerOptions,
    telemetry,
    onStepEnd: ({ toolCalls }) => {
      // A call of an unknown tool or with unfit arguments: the SDK tells the model, the trace tells the reader.
      for (const { toolCallId, toolName, input, ...call } of toolCalls) {
        if (!("invalid" in call) || !call.invalid) continue;
        const reason = call.error instanceof Error ? call.error.message : String(call.error);
        reportRefusedCall({ callId: toolCallId, tool: toolName, args: input }, reason, run.emit, steps);
      }
      steps.end();
    },
  });
  return result.text;
}
