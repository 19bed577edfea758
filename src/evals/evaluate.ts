import type { EvalCase } from "../agents/index.ts";
import { type AssertionResult, type BoundedChecks, checkAssertions, type Evidence } from "./assertions.ts";

/** How one run of a case ended. `failure` is a sentence that every member may read. */
export type EndedRun = { failure: string } | { failure: undefined; evidence: Evidence };

/** What one run of a case came to. The judge's opinion is no part of it. */
export interface Evaluation {
  passed: boolean;
  assertions: AssertionResult[];
}

/** Decides about one run of a case: it has to have succeeded, with an output for which all checks hold. */
export async function evaluateRun(
  { assert }: EvalCase,
  run: EndedRun,
  bounded: BoundedChecks,
): Promise<Evaluation> {
  if (run.failure !== undefined) return failed("run", run.failure);
  if (run.evidence.output === "") return failed("output", "The run gave no output.");
  const assertions = assert ? await checkAssertions(assert, run.evidence, bounded) : [];
  return { passed: assertions.every(({ passed }) => passed), assertions };
}

/** The evaluation of a run that there is nothing to check of. */
export function failed(kind: "run" | "output", detail: string): Evaluation {
  return { passed: false, assertions: [{ kind, passed: false, detail }] };
}

/** How many runs a case has, and how many of them have to pass. */
export function demands({ repeats = 1, minPass = repeats }: EvalCase): { repeats: number; minPass: number } {
  return { repeats, minPass };
}
