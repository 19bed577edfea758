import type { MissingConnection } from "../connections/index.ts";
import type { FailureCode } from "../frameworks/index.ts";
import { AppError } from "../platform/errors.ts";

/** Why work that was accepted cannot start. */
export interface BrokenStart {
  kind: "broken";
  failureCode: FailureCode;
  /** One safe sentence. */
  reason: string;
  /** For workspace admins. */
  diagnostics?: string;
}

/**
 * Why an agent could not be resolved, and which version of it was wanted. Throws what says nothing of the agent, such
 * as a database that is away.
 */
export function brokenAgent(error: unknown): BrokenStart & { version: "stable" | "draft" } {
  if (!(error instanceof AppError) || error.status >= 500) throw error;
  const broken = { kind: "broken", failureCode: "invalid_spec", reason: error.message } as const;
  // Only the problems of a draft come with details.
  if (error.details === undefined) return { ...broken, version: "stable" };
  return { ...broken, version: "draft", diagnostics: JSON.stringify(error.details) };
}

/** That a member lacks connections which the agent needs. */
export function notConnected(owner: string, missing: readonly MissingConnection[]): BrokenStart {
  const lacking = missing.flatMap(({ slugs }) => slugs).join(", ");
  return {
    kind: "broken",
    failureCode: "connection_missing",
    reason: `${owner} has not connected what the agent needs: ${lacking.slice(0, 200)}.`,
    diagnostics: JSON.stringify(missing.map(({ toolkit, slugs }) => ({ toolkit, slugs }))),
  };
}
