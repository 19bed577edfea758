import { z } from "zod";
import type { StepEvent } from "./store.ts";

/** How far a run is in the step that goes on. */
export interface RunProgress {
  /** Slugs of the tools that were called in it, in order, each as often as it was called. */
  tools: string[];
  /** What the model has said in it so far; '' as soon as the step has ended. */
  text: string;
}

const StepData = z.object({
  step: z.number(),
  agent: z.string().optional(),
  node: z.string().optional(),
  text: z.string().default(""),
});

/**
 * How far the step is that was begun, or whose model call was tried again, last. Steps of a graph's parallel nodes
 * overlap: what belongs to the others is left out. Events are in order and may begin anywhere; what cannot be read is
 * passed over.
 */
export function foldProgress(events: readonly StepEvent[]): RunProgress {
  let current: string | undefined;
  let progress: RunProgress = { tools: [], text: "" };
  for (const { type, data } of events) {
    const { text, step } = readData(data);
    if (type === "step.started" || type === "model.retried") {
      current = step;
      progress = { tools: [], text: "" };
    } else if (type === "tool.called") {
      const tool = step === undefined || step === current ? calledTool(data) : undefined;
      if (tool !== undefined) progress.tools.push(tool);
    } else if (step !== undefined && step === current) {
      if (type === "text.delta") progress.text += text;
      if (type === "step.finished") progress.text = "";
    }
  }
  return progress;
}

/** Which step, and what was said. Data that was too long is kept as a text that was cut, which names none. */
function readData(json: string): { step: string | undefined; text: string } {
  const { data } = StepData.safeParse(JSON.parse(json));
  if (!data) return { step: undefined, text: "" };
  return { step: JSON.stringify([data.step, data.agent, data.node]), text: data.text };
}

/** The tool of a `tool.called`. In data that was cut off its name still stands before the arguments. */
export function calledTool(json: string): string | undefined {
  const data: { tool?: string; text?: string } = JSON.parse(json);
  return data.tool ?? /"tool":"([^"\\]+)"/.exec(data.text ?? "")?.[1];
}
