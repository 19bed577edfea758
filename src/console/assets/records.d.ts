/**
 * What the page reads of the API's records. The scripts import nothing from the server; a unit test holds these types
 * against the API's own ones.
 */

export interface HeadRecord {
  id: string;
  /** Null for a merge group. */
  number: number | null;
  mergeBranch?: string | undefined;
  headSha: string;
  baseRef: string;
  baseSha: string | null;
  author: string;
  fork: boolean;
  state: "awaiting_approval" | "planning" | "running" | "success" | "failure" | "error" | "superseded";
  reason?: string | undefined;
  approvedBy?: string | undefined;
  runAs: string | null;
  agents: HeadAgent[];
  statusPost: StatusPost;
  createdAt: string;
  finishedAt: string | null;
}

export interface HeadAgent {
  agent: string;
  path: string;
  evalPath: string | null;
  outcome: "evals" | "no_evals" | "invalid" | "eval_invalid";
  problem?: Problem | undefined;
  evalId?: string | undefined;
  status?: SuiteRecord["status"] | undefined;
  cached?: boolean | undefined;
  passedCount?: number | undefined;
  totalCount?: number | undefined;
  base?: { evalId: string; passedCount: number; totalCount: number } | undefined;
}

export interface Problem {
  path: string;
  line: number;
  column: number;
  message: string;
}

export interface StatusPost {
  state: "none" | "pending" | "posted" | "skipped" | "failed";
  reason?: string | undefined;
}

export interface SuiteRecord {
  version: string;
  status: "queued" | "running" | "passed" | "failed" | "error";
  totalCount: number;
  passedCount: number;
  error?: string | undefined;
  cases: CaseRecord[];
}

export interface CaseRecord {
  name: string;
  status: "queued" | "running" | "passed" | "failed" | "cancelled";
  input: string;
  output: string | null;
  assertions: { kind: string; passed: boolean; detail: string }[];
  judgePassed: boolean | null;
  judgeReason?: string | undefined;
  runId: string;
  runs?: { passed: boolean | null }[] | undefined;
  durationMs: number | null;
  costUsd: number | null;
}

export interface AgentChangeRecord {
  task_id: string;
  kind: "create" | "edit";
  status: "queued" | "running" | "proposed" | "committed" | "failed";
  html_url: string;
  agent_path: string;
  agent: string;
  description: string;
  requestedBy: string;
  summary?: string | undefined;
  notes?: string[] | undefined;
  evals?:
    | {
        status: "passed" | "failed" | "error" | "skipped";
        passedCount: number;
        totalCount: number;
        reason?: string | undefined;
      }
    | undefined;
  branch?: string | undefined;
  commitSha?: string | undefined;
  error?: string | undefined;
  suggestedAutomation?: { schedule: string; timezone?: string | undefined; message: string } | undefined;
  finishedAt: string | null;
}
