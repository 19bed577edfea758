/**
 * @import { CaseRecord, SuiteRecord } from "./records.d.ts"
 * @import { Verdict } from "./describe-head.js"
 * @typedef {object} CaseView
 * @property {string} key
 * @property {string} name
 * @property {Verdict} verdict
 * @property {{ verdict: Verdict, kind: string, detail: string }[]} assertions
 * @property {{ verdict: Verdict, reason: string } | undefined} judge
 * @property {string} footnote
 * @property {string} input
 * @property {string | undefined} output
 * @typedef {object} SuiteView
 * @property {Verdict} verdict
 * @property {string} summary
 * @property {string | undefined} error
 * @property {CaseView[]} cases
 */
import { suiteVerdict } from "./describe-head.js";

/** Most characters of an input or output on the page; whole, a few of them can hold up a phone. */
const longestText = 50_000;

/**
 * Whether a suite has ended.
 * @param {Pick<SuiteRecord, "status">} suite
 */
export function isFinalSuite({ status }) {
  return status !== "queued" && status !== "running";
}

/**
 * All that the page says of a suite, as plain text.
 * @param {SuiteRecord} suite
 * @returns {SuiteView}
 */
export function describeSuite({ status, version, passedCount, totalCount, error, cases }) {
  return {
    verdict: suiteVerdict(status),
    summary: `${passedCount} of ${totalCount} cases passed, version ${version}`,
    error,
    cases: cases.map((evalCase, index) => describeCase(evalCase, index)),
  };
}

/**
 * @param {CaseRecord} evalCase
 * @param {number} index
 * @returns {CaseView}
 */
function describeCase(evalCase, index) {
  const { name, status, assertions, judgePassed, judgeReason, input, output } = evalCase;
  return {
    key: String(index),
    name,
    verdict: suiteVerdict(status),
    assertions: assertions.map(({ kind, passed, detail }) => ({
      verdict: suiteVerdict(passed ? "passed" : "failed"),
      kind,
      detail,
    })),
    judge:
      judgePassed === null
        ? undefined
        : {
            verdict: judgePassed ? { word: "PASS", tone: "good" } : { word: "FAIL", tone: "bad" },
            reason: judgeReason ?? "",
          },
    footnote: footnote(evalCase),
    input: shorten(input),
    output: output === null ? undefined : shorten(output),
  };
}

/** @param {CaseRecord} evalCase */
function footnote({ runId, runs, durationMs, costUsd }) {
  const passed = runs?.filter((run) => run.passed === true).length;
  return [
    runs && `${passed} of ${runs.length} runs passed`,
    runId,
    durationMs !== null && `${(durationMs / 1000).toFixed(1)} s`,
    costUsd !== null && `$${costUsd.toFixed(4)}`,
  ]
    .filter((part) => typeof part === "string" && part !== "")
    .join(", ");
}

/**
 * @param {string} text
 * @returns {string}
 */
function shorten(text) {
  if (text.length <= longestText) return text;
  return `${text.slice(0, longestText)}\n… cut here; the API has all ${text.length} characters.`;
}
