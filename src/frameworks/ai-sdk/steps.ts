import type { TokenUsage } from "../../models/index.ts";
import type { FrameworkRun } from "../types.ts";

/** The steps of one run as its trace tells them. */
export interface Steps {
  /** Number of the step under way, from 1; 0 before the first. */
  current(): number;
  begin(): void;
  /** Keeps what the model said in the step under way, for when the step ends. */
  answered(text: string, usage: TokenUsage): void;
  /** Ends the step under way, if the model answered in it and it has not ended yet. */
  end(): void;
}

/** Numbers the steps of a run and emits their beginnings and ends. */
export function createSteps(emit: FrameworkRun["emit"]): Steps {
  let step = 0;
  let startedAt = 0;
  let answer: { text: string; usage: TokenUsage } | undefined;

  return {
    current: () => step,
    begin() {
      step += 1;
      startedAt = performance.now();
      emit({ type: "step.started", step });
    },
    answered(text, usage) {
      answer = { text, usage };
    },
    end() {
      if (!answer) return;
      const ended = answer;
      answer = undefined;
      emit({ type: "step.finished", step, ...ended, durationMs: Math.round(performance.now() - startedAt) });
    },
  };
}
