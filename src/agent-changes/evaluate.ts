import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { shortLine } from "../platform/short-line.ts";
import type { NewSuite, SuiteProgress, Suites } from "./ports.ts";
import type { Draft, Evaluation } from "./schema.ts";
import type { ChangeRow } from "./store.ts";

/** How long a suite is waited for, from when it was made; milliseconds. */
const patienceMs = 15 * 60_000;
const lookSeconds = 20;
const longestDetail = 300;

export const skipped = (reason: string): Evaluation => ({
  status: "skipped",
  passedCount: 0,
  totalCount: 0,
  reason,
  cases: [],
});

/** A suite of the draft, or why there is none. Throws when it may be made later. */
export async function prepareSuite(
  suites: Suites,
  row: ChangeRow,
  { specText, evalText }: Draft,
  baseSha: string,
): Promise<NewSuite | Evaluation> {
  if (evalText === null) return skipped("The agent has no eval file.");
  const user = { workspaceId: row.workspace_id, login: row.requested_by };
  const texts = { agent: row.agent, spec: specText, eval: evalText, commitSha: baseSha };
  try {
    return await suites.prepare(user, { ...texts, source: "api", cache: false });
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return skipped(error.message);
    throw error;
  }
}

/** What a suite has come to. Settles when it has ended, or when nobody waits any longer; rejects once it is aborted. */
export async function awaitSuite(
  { suites, clock }: { suites: Suites; clock: Clock },
  workspaceId: string,
  evalId: string,
  signal: AbortSignal,
): Promise<Evaluation> {
  for (;;) {
    const suite = await suites.waitFor(workspaceId, evalId, lookSeconds, signal);
    signal.throwIfAborted();
    const over = clock() - Date.parse(suite.createdAt) > patienceMs;
    switch (suite.status) {
      case "passed":
      case "failed":
      case "error":
        return { ...toEvaluation(suite), status: suite.status };
      case "queued":
      case "running":
        if (over) return { ...toEvaluation(suite), status: "skipped", reason: "They had not ended in time." };
    }
  }
}

function toEvaluation({ passedCount, totalCount, error, cases }: SuiteProgress): Omit<Evaluation, "status"> {
  return {
    passedCount,
    totalCount,
    ...(error === undefined ? {} : { reason: error }),
    cases: cases.map(({ name, passed, judgePassed, assertions }) => {
      const fault = assertions.find((each) => !each.passed);
      return {
        name,
        passed,
        judgePassed,
        detail: passed ? "" : shortLine(fault?.detail ?? "", longestDetail),
      };
    }),
  };
}
