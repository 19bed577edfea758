import type { EvalCase } from "../agents/index.ts";
import { demands } from "./evaluate.ts";

/** Whether one run of a case passed; null until it is evaluated. */
interface RunVerdict {
  case_index: number;
  passed: number | null;
}

/** What a case has come to, from all of its runs: null until every one is evaluated. */
export function caseVerdict(evalCase: EvalCase, runs: readonly RunVerdict[]): boolean | null {
  if (runs.some(({ passed }) => passed === null)) return null;
  return runs.filter(({ passed }) => passed === 1).length >= demands(evalCase).minPass;
}

/** How many cases of a suite have passed. */
export function countPassed(cases: readonly EvalCase[], runs: readonly RunVerdict[]): number {
  const byCase = Map.groupBy(runs, (run) => run.case_index);
  return cases.filter((evalCase, index) => caseVerdict(evalCase, byCase.get(index) ?? [])).length;
}
