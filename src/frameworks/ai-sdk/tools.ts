import { jsonSchema, type ToolSet } from "ai";
import { z } from "zod";
import { RunFailure } from "../failure.ts";
import type { FrameworkRun, RunTool } from "../types.ts";
import type { Steps } from "./steps.ts";

type ToolAnswer = Awaited<ReturnType<RunTool["execute"]>>;

interface ToolRun {
  emit: FrameworkRun["emit"];
  steps: Steps;
  signal: AbortSignal;
  /** Ends the run: the SDK itself would tell the model about the error and go on. */
  fail(failure: RunFailure): void;
}

/** The run's tools as the SDK wants them. Arguments that do not fit are told to the model. */
export function toolSet(tools: readonly RunTool[], run: ToolRun): ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.slug,
      {
        description: tool.description,
        inputSchema: jsonSchema(tool.inputSchema, { validate: validator(tool.inputSchema) }),
        execute: (args: unknown, { toolCallId }: { toolCallId: string }) =>
          execute(tool, args, toolCallId, run),
        toModelOutput: ({ output }: { output: ToolAnswer }) => modelOutput(output),
      },
    ]),
  );
}

async function execute(tool: RunTool, args: unknown, callId: string, run: ToolRun): Promise<ToolAnswer> {
  const about = { step: run.steps.current(), callId, tool: tool.slug };
  run.emit({ type: "tool.called", ...about, args });
  const startedAt = performance.now();
  const finished = (ok: boolean, result: unknown) =>
    run.emit({
      type: "tool.finished",
      ...about,
      ok,
      result,
      durationMs: Math.round(performance.now() - startedAt),
    });
  try {
    const answer = await untilAborted(tool.execute(args, run.signal), run.signal);
    finished(answer.ok, answer.content);
    return answer;
  } catch (error) {
    // Whether a tool that was interrupted did its work is unknown: the trace shows the call without an end.
    if (run.signal.aborted) throw error;
    const failure =
      error instanceof RunFailure
        ? error
        : new RunFailure("tool_failed", `${tool.slug}: ${error}`, { cause: error });
    finished(false, failure.message);
    run.fail(failure);
    throw failure;
  }
}

/** Rejects with the signal's reason when it is aborted first, also for tools that do not look at it. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function modelOutput({ ok, content }: ToolAnswer) {
  if (typeof content === "string")
    return { type: ok ? ("text" as const) : ("error-text" as const), value: content };
  // Through JSON, because a tool may return dates, undefined and the like.
  const value = JSON.parse(JSON.stringify(content ?? null));
  return { type: ok ? ("json" as const) : ("error-json" as const), value };
}

/**
 * Checks arguments by a JSON Schema. The schema is compiled at the first call of the tool, as most runs call
 * few of theirs. One that zod cannot express lets everything pass: the tool's provider checks it anyway.
 */
function validator(schema: Record<string, unknown>) {
  let compiled: z.ZodType | undefined;
  return (value: unknown): { success: true; value: unknown } | { success: false; error: Error } => {
    compiled ??= compile(schema);
    const checked = compiled.safeParse(value);
    // The value itself, not zod's copy: defaults are the tool's business.
    return checked.success
      ? { success: true, value }
      : { success: false, error: new Error(z.prettifyError(checked.error)) };
  };
}

function compile(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch {
    return z.unknown();
  }
}
