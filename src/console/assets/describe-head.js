/**
 * @import { HeadAgent, HeadRecord, Problem, StatusPost } from "./records.d.ts"
 * @typedef {"good" | "bad" | "pending" | "quiet"} Tone
 * @typedef {{ word: string, tone: Tone }} Verdict
 * @typedef {{ term: string, text: string } | { term: string, instant: string }} Fact
 * @typedef {object} AgentView
 * @property {string} key two agents may claim one name, and both are invalid then
 * @property {string} name
 * @property {Verdict} verdict
 * @property {string[]} lines what there is to say of it, a sentence each
 * @property {{ place: string, message: string } | undefined} problem
 * @property {{ id: string, label: string }[]} suites
 * @typedef {object} HeadView
 * @property {string} key
 * @property {string} title
 * @property {Verdict} verdict
 * @property {string | undefined} reason
 * @property {Fact[]} facts
 * @property {string} agentsLine
 * @property {AgentView[]} agents
 * @property {{ number: number, headSha: string } | undefined} approval what an operator can approve
 */

/** @type {Record<string, Verdict>} */
const headVerdicts = {
  awaiting_approval: { word: "Waiting for approval", tone: "pending" },
  planning: { word: "Looking for changed agents", tone: "pending" },
  running: { word: "Running", tone: "pending" },
  success: { word: "Passed", tone: "good" },
  failure: { word: "Failed", tone: "bad" },
  error: { word: "Error", tone: "bad" },
  superseded: { word: "Superseded", tone: "quiet" },
};

/** @type {Record<string, Verdict>} */
const suiteVerdicts = {
  queued: { word: "Queued", tone: "pending" },
  running: { word: "Running", tone: "pending" },
  passed: { word: "Passed", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
  error: { word: "Error", tone: "bad" },
  cancelled: { word: "Cancelled", tone: "quiet" },
};

/**
 * How a suite's or a case's status is shown. A word that this page does not know is shown as it is.
 * @param {string} status
 * @returns {Verdict}
 */
export function suiteVerdict(status) {
  return (Object.hasOwn(suiteVerdicts, status) && suiteVerdicts[status]) || { word: status, tone: "quiet" };
}

/**
 * Whether nothing of the head changes any more, what is said on the commit included.
 * @param {HeadRecord} head
 */
export function isSettled({ state, statusPost }) {
  return ["success", "failure", "error", "superseded"].includes(state) && statusPost.state !== "pending";
}

/**
 * All that the page says of a head, as plain text.
 * @param {HeadRecord} head
 * @returns {HeadView}
 */
export function describeHead(head) {
  const { id, number, mergeBranch, headSha, state, reason, agents } = head;
  return {
    key: id,
    title: titleOf(number, mergeBranch),
    verdict: (Object.hasOwn(headVerdicts, state) && headVerdicts[state]) || { word: state, tone: "quiet" },
    reason,
    facts: factsOf(head),
    agentsLine: agentsLine(head),
    agents: agents.map(describeAgent),
    approval: state === "awaiting_approval" && number !== null ? { number, headSha } : undefined,
  };
}

/**
 * The state of all heads in one line, for those who hear the page and for the tab's title.
 * @param {readonly HeadRecord[]} heads
 * @returns {string}
 */
export function describeState(heads) {
  if (heads.length === 0) return "No pull request with this commit at its head is known here.";
  return heads
    .map((head) => {
      const { title, verdict } = describeHead(head);
      return `${title}: ${verdict.word.toLowerCase()}.`;
    })
    .join(" ");
}

/**
 * @param {number | null} number
 * @param {string | undefined} mergeBranch
 */
function titleOf(number, mergeBranch) {
  if (number !== null) return `Pull request ${number}`;
  return mergeBranch === undefined ? "Merge queue" : `Merge queue, ${mergeBranch}`;
}

/**
 * @param {HeadRecord} head
 * @returns {Fact[]}
 */
function factsOf(head) {
  const { number, baseRef, baseSha, author, fork, runAs, approvedBy, statusPost, createdAt, finishedAt } =
    head;
  const person = author === "" ? "an account that is gone" : author;
  return [
    { term: "Base", text: baseSha === null ? baseRef : `${baseRef} at ${baseSha.slice(0, 12)}` },
    // The host itself makes merge groups.
    ...(number === null ? [] : [{ term: "Author", text: fork ? `${person}, from a fork` : person }]),
    { term: "Runs as", text: runAs ?? "nobody: agents that need connections cannot run" },
    ...(approvedBy ? [{ term: "Approved by", text: approvedBy }] : []),
    { term: "Commit status", text: describePost(statusPost) },
    { term: "Begun", instant: createdAt },
    ...(finishedAt === null ? [] : [{ term: "Finished", instant: finishedAt }]),
  ];
}

/**
 * @param {StatusPost} post
 * @returns {string}
 */
export function describePost({ state, reason }) {
  const words = {
    none: "not asked for",
    pending: "to be posted",
    posted: "posted",
    skipped: "not posted",
    failed: "could not be posted",
  };
  return reason === undefined ? words[state] : `${words[state]}: ${reason}`;
}

/** @param {HeadRecord} head */
function agentsLine({ state, agents }) {
  if (agents.length > 0) return agents.length === 1 ? "1 changed agent" : `${agents.length} changed agents`;
  if (state === "awaiting_approval")
    return "It comes from a fork: nothing is run before an operator approves it.";
  return state === "planning" ? "The changed agents are not known yet." : "No changed agents.";
}

/**
 * @param {HeadAgent} agent
 * @returns {AgentView}
 */
function describeAgent(agent) {
  const { problem, evalId, base } = agent;
  return {
    key: agent.path,
    name: agent.agent,
    verdict: agentVerdict(agent),
    lines: agentLines(agent),
    problem: problem && { place: placeOf(problem), message: problem.message },
    suites: [
      ...(evalId === undefined ? [] : [{ id: evalId, label: `Cases of ${agent.agent}` }]),
      ...(base === undefined ? [] : [{ id: base.evalId, label: `Cases of ${agent.agent} on the base` }]),
    ],
  };
}

/**
 * @param {HeadAgent} agent
 * @returns {Verdict}
 */
function agentVerdict({ outcome, status }) {
  switch (outcome) {
    case "no_evals":
      return { word: "No evals", tone: "quiet" };
    case "invalid":
      return { word: "Invalid spec", tone: "bad" };
    case "eval_invalid":
      return { word: "Invalid eval file", tone: "bad" };
    case "evals":
      return suiteVerdict(status ?? "queued");
  }
}

/**
 * @param {HeadAgent} agent
 * @returns {string[]}
 */
function agentLines({ outcome, path, evalPath, passedCount, totalCount, base, cached }) {
  const files = evalPath === null ? path : `${path}, ${evalPath}`;
  if (outcome === "no_evals") return [files, "It has no eval file, so nothing was run."];
  if (outcome !== "evals") return [files];
  const head =
    passedCount === undefined || totalCount === undefined ? undefined : { passedCount, totalCount };
  return [
    files,
    ...(head
      ? [`Head: ${counts(head)}${cached ? " (results of an earlier run of the same texts)" : ""}`]
      : []),
    base ? `Base: ${counts(base)}` : "Base: no results to compare with",
  ];
}

/** @param {{ passedCount: number, totalCount: number }} suite */
function counts({ passedCount, totalCount }) {
  return `${passedCount} of ${totalCount} cases passed`;
}

/** @param {Problem} problem */
function placeOf({ path, line, column }) {
  return `${path}:${line}:${column}`;
}
