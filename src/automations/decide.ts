import type { RunnableVersion } from "../agents/index.ts";
import { atLeast, type Role } from "../platform/http/index.ts";
import type { DueOccurrences } from "./next-occurrence.ts";
import type { AutomationRow, AutomationState } from "./store.ts";
import type { Target } from "./targets.ts";

/** What is to be done about an occurrence that is due. */
export type Verdict =
  /** It has its row already: the clock was set back, or a backup was restored. */
  | { kind: "settled" }
  | { kind: "blocked"; reason: string }
  | { kind: "skipped"; reason: string }
  /** It stays due until the run before has ended. */
  | { kind: "queued"; reason: string }
  /** It stays due until the repository can be read. */
  | { kind: "retrying"; reason: string; diagnostics: string | undefined; waitMs: number }
  | ({ kind: "error" } & Omit<Extract<Target, { kind: "broken" }>, "kind">)
  | { kind: "fired"; version: RunnableVersion };

export interface Circumstances {
  /** The occurrence has a row in the ledger. */
  settled: boolean;
  /** The owner's role; undefined when the owner is no member. */
  ownerRole: Role | undefined;
  /** Its run before is still queued or running. */
  busy: boolean;
  target: Target;
  /** From 0 up to but not including 1. */
  random: number;
}

/** Between two looks at a run that an occurrence waits for. */
const queueMs = 5_000;

const retryBaseMs = 30_000;
const retryCapMs = 15 * 60_000;

/** 30 s, doubling up to 15 min, and up to a fifth less, so that those who failed together come back spread out. */
export function retryMs(attempt: number, random: number): number {
  const step = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(attempt - 1, 20));
  return Math.round(step * (1 - 0.2 * random));
}

/** The owner is looked at first: nothing else may matter to an automation that nobody answers for. */
export function decide(
  row: Pick<AutomationRow, "owner" | "overlap" | "attempts">,
  { settled, ownerRole, busy, target, random }: Circumstances,
): Verdict {
  if (settled) return { kind: "settled" };
  if (ownerRole === undefined) return { kind: "blocked", reason: `${row.owner} is not a member any more.` };
  if (!atLeast(ownerRole, "operator"))
    return { kind: "blocked", reason: `${row.owner} has the role ${ownerRole}, which may not run agents.` };
  if (busy && row.overlap === "skip")
    return { kind: "skipped", reason: "The run before was still queued or running." };
  if (busy && row.overlap === "queue") return { kind: "queued", reason: "Waits for the run before to end." };
  switch (target.kind) {
    case "ready":
      return { kind: "fired", version: target.version };
    case "away": {
      const { reason, diagnostics } = target;
      return { kind: "retrying", reason, diagnostics, waitMs: retryMs(row.attempts + 1, random) };
    }
    case "broken":
      return { ...target, kind: "error" };
  }
}

/** What the automation is like afterwards. `runId` is the run that was made, if one was. */
export function stateAfter(
  row: AutomationState,
  verdict: Verdict,
  { next, now, runId }: { next: DueOccurrences["next"]; now: number; runId: string | undefined },
): AutomationState {
  const { kind } = verdict;
  const { paused_reason, error_reason, failing, last_fire_at, last_run_id, next_run_at } = row;
  const kept = { paused_reason, error_reason, failing, last_fire_at, last_run_id };
  const advanced = {
    ...kept,
    waiting_reason: null,
    attempts: 0,
    next_run_at: next ?? null,
    due_at: next ?? null,
  };
  switch (kind) {
    case "settled":
    case "skipped":
      return advanced;
    case "blocked":
      return { ...advanced, paused_reason: verdict.reason, next_run_at: null, due_at: null };
    case "queued": {
      const waiting_reason = verdict.reason;
      return { ...kept, waiting_reason, attempts: 0, next_run_at, due_at: now + queueMs };
    }
    case "retrying": {
      const { reason: waiting_reason, waitMs } = verdict;
      const attempts = row.attempts + 1;
      return { ...kept, waiting_reason, attempts, failing: 1, next_run_at, due_at: now + waitMs };
    }
    case "error":
      return { ...advanced, error_reason: verdict.reason, failing: 1, last_run_id: runId ?? last_run_id };
    case "fired":
      return {
        ...advanced,
        error_reason: null,
        failing: 0,
        last_fire_at: now,
        last_run_id: runId ?? last_run_id,
      };
  }
}
