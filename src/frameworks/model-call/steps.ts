import type { TokenUsage } from "../../models/index.ts";
import type { FrameworkRun, StepRef } from "../types.ts";

/** The steps of one run, or of one strand of it, as its trace tells them. */
export interface Steps {
  /** The step under way, number 0 before the first. */
  current(): StepRef;
  /** Begins the next step, and ends the one before if nobody did. */
  begin(): void;
  /** Keeps what the model said in the step under way, for when the step ends. */
  answered(text: string, usage: TokenUsage): void;
  /** Ends the step under way, if the model answered in it and it has not ended yet. */
  end(): void;
}

/** All steps of one run; their numbers are given out across its strands. */
export interface RunSteps {
  /** How many steps have begun. */
  count(): number;
  /** Steps that follow one another, in what is named by `place`. Strands may be under way at the same time. */
  strand(place?: Omit<StepRef, "step">): Steps;
  /** Ends every step that is under way. */
  end(): void;
}

/** Numbers the steps of a run and emits their beginnings and ends. */
export function createRunSteps(emit: FrameworkRun["emit"]): RunSteps {
  let count = 0;
  const strands: Steps[] = [];

  return {
    count: () => count,
    strand(place = {}) {
      const next = (): StepRef => {
        count += 1;
        return { step: count, ...place };
      };
      const steps = createSteps(emit, { step: 0, ...place }, next);
      strands.push(steps);
      return steps;
    },
    end() {
      for (const steps of strands) steps.end();
    },
  };
}

function createSteps(emit: FrameworkRun["emit"], before: StepRef, next: () => StepRef): Steps {
  let current = before;
  let startedAt = 0;
  let answer: { text: string; usage: TokenUsage } | undefined;

  function end() {
    if (!answer) return;
    const ended = answer;
    answer = undefined;
    emit({
      type: "step.finished",
      ...current,
      ...ended,
      durationMs: Math.round(performance.now() - startedAt),
    });
  }

  return {
    current: () => current,
    begin() {
      end();
      current = next();
      startedAt = performance.now();
      emit({ type: "step.started", ...current });
    },
    answered(text, usage) {
      answer = { text, usage };
    },
    end,
  };
}
