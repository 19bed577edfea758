/** @import { AgentChangeRecord } from "./records.d.ts" */

/**
 * An agent change in words.
 * @param {AgentChangeRecord} change
 * @returns {{ state: string, rows: { term: string, text: string, long?: boolean }[], link: { href: string, text: string } | undefined }}
 */
export function describeChange(change) {
  const { evals, suggestedAutomation: suggested } = change;
  const rows = [
    { term: "Agent", text: `${change.agent} (${change.kind === "create" ? "new" : "changed"})` },
    { term: "File", text: change.agent_path },
    { term: "Asked for by", text: change.requestedBy },
    { term: "Description", text: change.description, long: true },
    ...optional("What changed", change.summary, true),
    ...(change.notes ?? []).map((text) => ({ term: "Note", text })),
    ...optional("Evals", evals && describeEvals(evals)),
    ...optional("Branch", change.branch),
    ...optional("Commit", change.commitSha),
    ...optional(
      "Suggested schedule",
      suggested &&
        `${suggested.schedule}${suggested.timezone ? ` in ${suggested.timezone}` : ""}. Nothing is scheduled: make an automation of it if you want that.`,
    ),
    ...optional("Why it failed", change.error),
  ];
  return { state: describeState(change), rows, link: linkOf(change) };
}

/** @param {AgentChangeRecord} change */
function describeState({ status, agent }) {
  switch (status) {
    case "queued":
      return `The change of ${agent} waits for its turn.`;
    case "running":
      return `The change of ${agent} is being written.`;
    case "proposed":
      return `The change of ${agent} is proposed.`;
    case "committed":
      return `The change of ${agent} is committed.`;
    case "failed":
      return `The change of ${agent} failed.`;
  }
}

/** @param {NonNullable<AgentChangeRecord["evals"]>} evals */
function describeEvals({ status, passedCount, totalCount, reason }) {
  if (status === "passed" || status === "failed") return `${passedCount} of ${totalCount} cases passed.`;
  return `${status === "error" ? "They could not be run." : "They were not run to their end."} ${reason ?? ""}`;
}

/**
 * The page elsewhere, once there is one.
 * @param {AgentChangeRecord} change
 */
function linkOf({ html_url, status, task_id }) {
  const isElsewhere = /^https?:\/\//.test(html_url) && !html_url.endsWith(`/agent-changes/${task_id}`);
  if (!isElsewhere) return undefined;
  return { href: html_url, text: status === "committed" ? "The commit" : "The pull request" };
}

/**
 * @param {string} term
 * @param {string | undefined} text
 * @param {boolean} [long]
 */
const optional = (term, text, long = false) => (text === undefined ? [] : [{ term, text, long }]);
