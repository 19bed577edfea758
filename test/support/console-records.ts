import type { HeadAgent, HeadRecord, SuiteRecord } from "../../src/console/assets/records.d.ts";

export const sha = "3f2a9c41".repeat(5);

/** A head that waits for nothing and failed, with one agent; a test changes what it is about. */
export function headRecord(changes: Partial<HeadRecord> = {}): HeadRecord {
  return {
    id: "prh_1",
    number: 12,
    headSha: sha,
    baseRef: "main",
    baseSha: "b".repeat(40),
    author: "maria",
    fork: false,
    state: "failure",
    runAs: "maria",
    agents: [agentRecord()],
    statusPost: { state: "posted" },
    createdAt: "2026-01-05T10:00:00.000Z",
    finishedAt: "2026-01-05T10:00:04.000Z",
    ...changes,
  };
}

export function agentRecord(changes: Partial<HeadAgent> = {}): HeadAgent {
  return {
    agent: "refunds",
    path: "agents/ai-sdk/refunds.yaml",
    evalPath: "agents/ai-sdk/refunds.eval.yaml",
    outcome: "evals",
    evalId: "evl_head",
    status: "failed",
    cached: false,
    passedCount: 1,
    totalCount: 2,
    base: { evalId: "evl_base", passedCount: 2, totalCount: 2 },
    ...changes,
  };
}

/** A suite with a case that passed and one that failed. */
export function suiteRecord(changes: Partial<SuiteRecord> = {}): SuiteRecord {
  const known = { runId: "run_1", durationMs: 1_240, costUsd: 0.0031 };
  return {
    version: "draft",
    status: "failed",
    totalCount: 2,
    passedCount: 1,
    cases: [
      {
        ...known,
        name: "greets",
        status: "passed",
        input: "Hello?",
        output: "Good day.",
        assertions: [{ kind: "contains", passed: true, detail: "contains good" }],
        judgePassed: null,
      },
      {
        ...known,
        name: "polite answer",
        status: "failed",
        input: "Where is my money?",
        output: "Go away.",
        assertions: [{ kind: "not_contains", passed: false, detail: "contains “away”" }],
        judgePassed: false,
        judgeReason: "The answer is rude.",
      },
    ],
    ...changes,
  };
}
