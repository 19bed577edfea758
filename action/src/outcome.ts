/** A mistake in a file, as the service tells it. */
export interface Problem {
  message: string;
  line: number;
  column: number;
}

/** One case of a suite, as far as it is told here. */
export interface CaseResult {
  name: string;
  status: string;
  assertions: readonly { kind: string; passed: boolean; detail: string }[];
}

/** An eval suite of the service, as far as it is told here. */
export interface Suite {
  id: string;
  status: "queued" | "running" | "passed" | "failed" | "error";
  passedCount: number;
  totalCount: number;
  error: string | undefined;
  cases: readonly CaseResult[];
}

/** What became of one agent. */
export type Outcome =
  | { kind: "ended"; agent: string; suite: Suite; evalPath: string; evalText: string }
  /** Nobody waits for it. */
  | { kind: "queued"; agent: string; evalId: string }
  /** It goes on, but the time is over; without an id it was not queued. */
  | { kind: "timed_out"; agent: string; evalId: string | null; suite: Suite | undefined }
  | { kind: "refused"; agent: string; message: string; path: string; problems: readonly Problem[] }
  | { kind: "skipped"; agent: string; reason: string };

/** An entry of the output `suites`. */
export interface SuiteOutput {
  agent: string;
  eval_id: string | null;
  status: Suite["status"] | "timed_out";
  passedCount: number;
  totalCount: number;
}

/** The entry of an agent; undefined for one that was skipped. */
export function suiteOutput(outcome: Outcome): SuiteOutput | undefined {
  const { agent } = outcome;
  const nothing = { passedCount: 0, totalCount: 0 };
  switch (outcome.kind) {
    case "ended": {
      const { id, status, passedCount, totalCount } = outcome.suite;
      return { agent, eval_id: id, status, passedCount, totalCount };
    }
    case "queued":
      return { agent, eval_id: outcome.evalId, status: "queued", ...nothing };
    case "timed_out": {
      const { passedCount, totalCount } = outcome.suite ?? nothing;
      return { agent, eval_id: outcome.evalId, status: "timed_out", passedCount, totalCount };
    }
    case "refused":
      return { agent, eval_id: null, status: "error", ...nothing };
    case "skipped":
      return undefined;
  }
}

/** Whether its cases failed (`failed`), there is no verdict although one was wanted (`error`), or neither. */
export function fault(outcome: Outcome): "failed" | "error" | undefined {
  const status = suiteOutput(outcome)?.status;
  if (status === "failed") return "failed";
  return status === "error" || status === "timed_out" ? "error" : undefined;
}
