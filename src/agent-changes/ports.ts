import type { Rows } from "../platform/db/index.ts";

/** Whose tools and connections: the member who asked for the change. */
export interface Requester {
  workspaceId: string;
  login: string;
}

/** An eval suite that exists once its rows are committed. */
export interface NewSuite {
  id: string;
  rows: Rows;
  committed(): void;
}

/** How far a suite has come. */
export interface SuiteProgress {
  status: "queued" | "running" | "passed" | "failed" | "error";
  passedCount: number;
  totalCount: number;
  error?: string | undefined;
  /** RFC 3339. */
  createdAt: string;
  cases: readonly {
    name: string;
    passed: boolean;
    judgePassed: boolean | null;
    assertions: readonly { passed: boolean; detail: string }[];
  }[];
}

/** Evals of texts that are in no repository yet. */
export interface Suites {
  /** Throws AppError: 422 with the reason when they cannot be run, 503 when they cannot be run now. */
  prepare(
    user: Requester,
    request: {
      agent: string;
      spec: string;
      eval: string;
      commitSha: string;
      source: "api";
      cache: false;
    },
  ): Promise<NewSuite>;
  /** The suite once it has ended, or as it is after that many seconds. */
  waitFor(workspaceId: string, id: string, seconds: number, signal: AbortSignal): Promise<SuiteProgress>;
}

/** Throws, with a sentence that says what is wrong, unless an automation could have that schedule. */
export type CheckSchedule = (schedule: string, timezone: string) => void;
