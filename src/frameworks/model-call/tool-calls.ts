import { z } from "zod";
import { RunFailure } from "../failure.ts";
import type { FrameworkRun, RunTool } from "../types.ts";
import type { SdkToolOutput } from "./sdk-types.ts";
import type { Session } from "./session.ts";
import type { Steps } from "./steps.ts";

export type ToolAnswer = Awaited<ReturnType<RunTool["execute"]>>;

/** A model's call of a tool. `args` is what was sent: a value, or the text of something that is no JSON. */
export interface ToolCall {
  callId: string;
  tool: string;
  args: unknown;
}

/** Where a tool is called: the run, and the steps of which it is a part. */
export interface ToolScope {
  session: Session;
  steps: Steps;
}

/**
 * Executes a call with arguments that fit, tells the trace, and resolves to what the model is told. Whatever a
 * tool throws ends the run.
 */
export async function executeTool(
  tool: RunTool,
  args: unknown,
  callId: string,
  { session, steps }: ToolScope,
): Promise<ToolAnswer> {
  const { emit, signal } = session.run;
  const about = { ...steps.current(), callId, tool: tool.slug };
  emit({ type: "tool.called", ...about, args });
  const startedAt = performance.now();
  const finished = (ok: boolean, result: unknown) =>
    emit({
      type: "tool.finished",
      ...about,
      ok,
      result,
      durationMs: Math.round(performance.now() - startedAt),
    });
  try {
    const answer = await untilAborted(tool.execute(args, signal), signal);
    finished(answer.ok, answer.content);
    return answer;
  } catch (error) {
    // Whether a tool that was interrupted did its work is unknown: the trace shows the call without an end.
    if (signal.aborted) throw error;
    const failure =
      error instanceof RunFailure
        ? error
        : new RunFailure("tool_failed", `${tool.slug}: ${error}`, { cause: error });
    finished(false, failure.message);
    session.fail(failure);
    throw failure;
  }
}

/** Tells the trace of a call that was not made: its tool is unknown, or its arguments do not fit. */
export function reportRefusedCall(
  { callId, tool, args }: ToolCall,
  reason: string,
  emit: FrameworkRun["emit"],
  steps: Steps,
): void {
  const about = { ...steps.current(), callId, tool };
  emit({ type: "tool.called", ...about, args });
  emit({ type: "tool.finished", ...about, ok: false, result: reason, durationMs: 0 });
}

/** Calls one of these tools as a model asked for it. Calls that cannot be made are told to the model. */
export type ToolCaller = (call: ToolCall) => Promise<ToolAnswer>;

/** For libraries that leave the check of a call to others. */
export function createToolCaller(tools: readonly RunTool[], scope: ToolScope): ToolCaller {
  const known = new Map(tools.map((tool) => [tool.slug, { tool, check: argumentCheck(tool.inputSchema) }]));
  return async (call) => {
    const found = known.get(call.tool);
    const problem = found ? found.check(call.args) : unknownTool(call.tool, tools);
    if (found && problem === undefined) return executeTool(found.tool, call.args, call.callId, scope);
    reportRefusedCall(call, problem ?? "", scope.session.run.emit, scope.steps);
    return { ok: false, content: problem };
  };
}

/** The arguments of a call as a value; a text that is no JSON stays as it is. */
export function parseArguments(json: string): unknown {
  // Models leave them out for tools that take none.
  if (json.trim() === "") return {};
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function unknownTool(slug: string, tools: readonly RunTool[]): string {
  const slugs = tools.map((tool) => tool.slug).join(", ");
  return `There is no tool ${slug}. ${slugs === "" ? "There are no tools." : `The tools are: ${slugs}.`}`;
}

/** What a tool answered, as models are told it. */
export function modelOutput({ ok, content }: ToolAnswer): SdkToolOutput {
  if (typeof content === "string") return { type: ok ? "text" : "error-text", value: content };
  // Through JSON, because a tool may return dates, undefined and the like.
  const value = JSON.parse(JSON.stringify(content ?? null));
  return { type: ok ? "json" : "error-json", value };
}

/**
 * Checks arguments by a JSON Schema and says what is wrong with them. The schema is compiled at the first call
 * of the tool, as most runs call few of theirs. One that zod cannot express lets everything pass: the tool's
 * provider checks it anyway.
 */
export function argumentCheck(schema: Record<string, unknown>): (args: unknown) => string | undefined {
  let compiled: z.ZodType | undefined;
  return (args) => {
    compiled ??= compile(schema);
    const checked = compiled.safeParse(args);
    return checked.success ? undefined : z.prettifyError(checked.error);
  };
}

function compile(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch {
    return z.unknown();
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
