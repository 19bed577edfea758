import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { RunFailure } from "../../src/frameworks/index.ts";
import type {
  Framework,
  FrameworkDeps,
  FrameworkRun,
  RunReach,
  RunTool,
  TraceEvent,
} from "../../src/frameworks/types.ts";
import {
  type ModelConnection,
  type ModelKeys,
  resolveModel,
  type TokenUsage,
} from "../../src/models/index.ts";

/** What a test says about a run; the rest is as plain as possible. */
export interface TestRun {
  model?: string;
  keys?: ModelKeys;
  message?: string;
  spec?: Record<string, unknown>;
  tools?: RunTool[];
  reach?: RunReach;
  signal?: AbortSignal;
  /** Called with every event as it happens. */
  onEvent?(event: TraceEvent): void;
  spend?(usage: TokenUsage, model: ModelConnection): Promise<void>;
  /** Default: so long that no answer of a test is live. */
  liveTextMs?: number;
  /** Really waits before retries; otherwise waits are only noted. */
  wait?: boolean;
}

/** A run under way, with what it has told so far. `waits` are the milliseconds before retries. */
export interface StartedRun {
  result: Promise<{ output: string }>;
  events: TraceEvent[];
  spent: TokenUsage[];
  waits: number[];
}

/** Starts one run of a framework. Jitter is 0, so that waits are what providers asked for. */
export function startRun(framework: Framework, test: TestRun): StartedRun {
  const ref = test.model ?? "openai-compatible/test-model";
  const resolved = resolveModel(ref, test.keys ?? {});
  if (!resolved.ok) throw new Error(resolved.reason);
  const started: Omit<StartedRun, "result"> = { events: [], spent: [], waits: [] };
  const run: FrameworkRun = {
    spec: framework.spec.parse({
      name: "tester",
      framework: framework.id,
      model: ref,
      instructions: "You test things.",
      ...test.spec,
    }),
    message: test.message ?? "Hello",
    model: resolved.model,
    tools: test.tools ?? [],
    ...(test.reach ? { reach: test.reach } : {}),
    signal: test.signal ?? new AbortController().signal,
    emit(event) {
      started.events.push(event);
      test.onEvent?.(event);
    },
    async spend(usage, model) {
      started.spent.push(usage);
      await test.spend?.(usage, model);
    },
  };
  const deps: FrameworkDeps = {
    random: () => 0,
    liveTextMs: test.liveTextMs ?? 60_000,
    async sleep(ms, signal) {
      started.waits.push(ms);
      if (test.wait) await sleep(ms, undefined, { signal });
    },
  };
  return { ...started, result: framework.load(deps).then((execute) => execute(run)) };
}

/** A tool that notes its calls and answers with `execute`. */
export function testTool(
  execute: RunTool["execute"],
  slug = "WEATHER_TODAY",
): RunTool & { calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    slug,
    description: "Says what the weather is like.",
    inputSchema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    calls,
    execute(args, signal) {
      calls.push(args);
      return execute(args, signal);
    },
  };
}

/** The failure that a run ends by; a test that expects one fails when the run succeeds. */
export async function failureOf({ result }: StartedRun): Promise<RunFailure> {
  const error = await result.then(
    ({ output }) => new Error(`The run succeeded with: ${output}`),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(RunFailure);
  return error as RunFailure;
}
