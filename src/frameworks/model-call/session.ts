import type { FrameworkDeps, FrameworkRun, FrameworkRunner } from "../types.ts";
import { explainError } from "./errors.ts";
import { createRunSteps, type RunSteps } from "./steps.ts";

/** One run while a framework's library executes it. */
export interface Session {
  /** Its signal is also aborted by `fail`; its `emit` tells nothing any more once the run is over. */
  run: FrameworkRun;
  steps: RunSteps;
  deps: FrameworkDeps;
  /** On the clock of `performance.now()`: when the run's time is up. */
  deadline: number;
  /** Ends the run by this error, whatever else is under way in it; libraries would tell the model and go on. */
  fail(failure: Error): void;
}

/** Real providers refuse an empty or blank user message. */
const insteadOfNothing = "Begin.";

/**
 * Makes a framework's runner out of what its library does: `generate` resolves to the answer. Everything that
 * `Framework.load` promises of failures and cancellation is seen to here. `mayFail` tells of a run whether
 * `Session.fail` may be called in it; without that there is no second signal to combine, which takes as long as
 * the rest of a short run.
 */
export function createSessionRunner(
  deps: FrameworkDeps,
  generate: (session: Session) => Promise<string>,
  mayFail: (run: FrameworkRun) => boolean,
): FrameworkRunner {
  return async (run) => {
    run.signal.throwIfAborted();
    const stop = new AbortController();
    const signal = mayFail(run) ? AbortSignal.any([run.signal, stop.signal]) : run.signal;
    let over = false;
    const emit: FrameworkRun["emit"] = (event) => {
      if (!over) run.emit(event);
    };
    const steps = createRunSteps(emit);
    const deadline = performance.now() + run.spec.parameters.timeoutSeconds * 1_000;
    const fail = (failure: Error) => stop.abort(failure);
    try {
      const output = await generate({ run: { ...run, signal, emit }, steps, deps, deadline, fail });
      signal.throwIfAborted();
      return { output };
    } catch (error) {
      steps.end();
      run.signal.throwIfAborted();
      const cause: unknown = stop.signal.aborted ? stop.signal.reason : error;
      throw explainError(cause, run.model).failure;
    } finally {
      over = true;
    }
  };
}

/** Instructions as a model gets them: what the run says of its message goes behind them, out of the message's reach. */
export const systemText = (instructions: string, { notice }: Pick<FrameworkRun, "notice">): string =>
  notice === undefined ? instructions : `${instructions}\n\n${notice}`;

/** The run's message as a model gets it. */
export function messageOf({ model, message }: FrameworkRun): string {
  return model.protocol === "offline" || message.trim() !== "" ? message : insteadOfNothing;
}
