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

/** Where in a run something happened. */
export interface StepRef {
  /** From 1, 0 before the first; one is a model call with the tools that the model asked for in it. */
  step: number;
  /** The agent whose step it is, in runs that agents can hand on to others. */
  agent?: string;
  /** The node of the graph whose step it is, in runs of a graph. */
  node?: string;
}

/**
 * One thing that happened in a run, in the order it happened. Becomes a row of the trace. Steps of a graph's
 * parallel nodes may overlap.
 */
export type TraceEvent =
  | ({ type: "step.started" } & StepRef)
  /**
   * What the answer under way has said since the last such event, told of answers that take their time. All texts of
   * a step together are a beginning of the text that its `step.finished` has; `model.retried` makes those before it
   * void, as the next attempt begins from nothing.
   */
  | ({ type: "text.delta"; text: string } & StepRef)
  /** `attempt` is the one that failed, counted from 1. The next follows after `waitMs`. */
  | ({ type: "model.retried"; attempt: number; waitMs: number; code: string } & StepRef)
  | ({ type: "tool.called"; callId: string; tool: string; args: unknown } & StepRef)
  | ({
      type: "tool.finished";
      callId: string;
      tool: string;
      ok: boolean;
      result: unknown;
      durationMs: number;
    } & StepRef)
  /** `agent` has left the rest of the run to `to`. */
  | ({ type: "handoff"; to: string } & StepRef)
  /** `node` has chosen that `to` is next. */
  | ({ type: "route"; to: string } & StepRef)
  | ({ type: "step.finished"; text: string; usage: TokenUsage; durationMs: number } & StepRef);

/** Another agent that takes part in a run: everything of it that the run's own agent has, too. */
export interface Participant {
  spec: AgentSpec;
  model: ModelConnection;
  tools: readonly RunTool[];
}

/** What a run can use beside its own agent and model. Both fail with a RunFailure that ends the run. */
export interface RunReach {
  /** The agent of that name in the same repository, in the version that goes with the run's. */
  agent(name: string): Promise<Participant>;
  /** The model of that reference, with the workspace's key. */
  model(ref: string): Promise<ModelConnection>;
}

export interface FrameworkRun {
  spec: AgentSpec;
  /** The user's message, '' when there was none. */
  message: string;
  /** What the model is told about the message beside the spec's instructions, on the system's side. */
  notice?: string | undefined;
  model: ModelConnection;
  tools: readonly RunTool[];
  /** Left out where specs are made by the service itself and name no others. */
  reach?: RunReach;
  /** Aborted on cancellation, time-out and loss of the lease; the request to the provider ends with it. */
  signal: AbortSignal;
  /** Never throws. */
  emit(event: TraceEvent): void;
  /**
   * Told after every model call with that call's tokens and the model that it was made to, before the next one
   * is made. Throws RunFailure `budget_exceeded` when the run may not go on.
   */
  spend(usage: TokenUsage, model: ModelConnection): Promise<void>;
}

export interface FrameworkResult {
  output: string;
}

/** Executes one run, see `Framework.load`. */
export type FrameworkRunner = (input: FrameworkRun) => Promise<FrameworkResult>;

/** Chance, waiting and the pace of live text, given from outside so that tests decide about them. */
export interface FrameworkDeps {
  /** 0 up to but not including 1. */
  random(): number;
  /** Resolves after that many milliseconds; rejects as soon as `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** How many milliseconds of text one `text.delta` tells; answers that are quicker tell none. */
  liveTextMs: number;
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
