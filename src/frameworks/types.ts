import type { z } from "zod";
import type { ModelConnection, TokenUsage } from "../models/index.ts";
import type { AgentSpec } from "./spec.ts";

/** A tool as an agent sees it during one run. */
export interface RunTool {
  slug: string;
  description: string;
  /** JSON Schema of the arguments, an object schema. */
  inputSchema: Record<string, unknown>;
  /**
   * Calls the tool for the member that the run runs as. A result of `ok: false` is told to the model, which
   * may go on; a thrown RunFailure ends the run.
   */
  execute(args: unknown, signal: AbortSignal): Promise<{ ok: boolean; content: unknown }>;
}

/**
 * One thing that happened in a run, in the order it happened. Becomes a row of the trace. Steps count from 1;
 * one is a model call with the tools that the model asked for in it.
 */
export type TraceEvent =
  | { type: "step.started"; step: number }
  /** `attempt` is the one that failed, counted from 1. The next follows after `waitMs`. */
  | { type: "model.retried"; step: number; attempt: number; waitMs: number; code: string }
  | { type: "tool.called"; step: number; callId: string; tool: string; args: unknown }
  | {
      type: "tool.finished";
      step: number;
      callId: string;
      tool: string;
      ok: boolean;
      result: unknown;
      durationMs: number;
    }
  | { type: "step.finished"; step: number; text: string; usage: TokenUsage; durationMs: number };

export interface FrameworkRun {
  spec: AgentSpec;
  /** The user's message, '' when there was none. */
  message: string;
  model: ModelConnection;
  tools: readonly RunTool[];
  /** Aborted on cancellation, time-out and loss of the lease; the request to the provider ends with it. */
  signal: AbortSignal;
  /** Never throws. */
  emit(event: TraceEvent): void;
  /**
   * Told after every model call with that call's tokens, before the next one is made. Throws RunFailure
   * `budget_exceeded` when the run may not go on.
   */
  spend(usage: TokenUsage): Promise<void>;
}

export interface FrameworkResult {
  output: string;
}

/** Executes one run, see `Framework.load`. */
export type FrameworkRunner = (input: FrameworkRun) => Promise<FrameworkResult>;

/** Chance and waiting, given from outside so that tests decide about both. */
export interface FrameworkDeps {
  /** 0 up to but not including 1. */
  random(): number;
  /** Resolves after that many milliseconds; rejects as soon as `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** An agent framework: what its specs may say and how one run of them goes. */
export interface Framework {
  /** Name of its folder below `agents/`. */
  id: string;
  /** `AgentSpecBase` with the framework's own keys, `framework` fixed to its id. */
  spec: z.ZodType<AgentSpec>;
  /**
   * Imports the framework's library, which costs time and memory only where one of its agents runs, and
   * returns the function that executes one run to its answer. That function fails with RunFailure only;
   * when the run's `signal` is aborted it rejects soon, with the signal's reason.
   */
  load(deps: FrameworkDeps): Promise<FrameworkRunner>;
}
