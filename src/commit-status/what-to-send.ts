import type { NewCheckRun, NewCommitStatus } from "../repositories/index.ts";
import { type CommitStatusRow, reportOf } from "./store.ts";

/** Address of the page about a commit. */
export type Link = (sha: string) => string | undefined;

/** What is shown on a commit, apart from how far the host has been told. */
type Shown = Pick<CommitStatusRow, "sha" | "state" | "description" | "report" | "check_run_id">;

const context = "rollcall/evals";
const checkRunName = "Rollcall evals";
const longestDescription = 140;

/** The status of a row; its description is cut to what hosts take. */
export function statusToSend({ sha, state, description }: Shown, link: Link): NewCommitStatus {
  return { sha, context, state, description: cut(description), targetUrl: link(sha) };
}

/**
 * The check run of a row. Its remarks are sent with its end alone, because hosts add those of every call to the
 * ones that are there.
 */
export function checkRunToSend(row: Shown, link: Link): NewCheckRun {
  const { sha, state } = row;
  const report = reportOf(row);
  return {
    sha,
    name: checkRunName,
    state,
    detailsUrl: link(sha),
    report: state === "pending" ? { ...report, annotations: [] } : report,
    id: row.check_run_id ?? undefined,
  };
}

function cut(text: string): string {
  const characters = [...text];
  if (characters.length <= longestDescription) return text;
  return `${characters.slice(0, longestDescription - 1).join("")}…`;
}
