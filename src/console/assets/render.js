/**
 * @import { AgentView, HeadView, Verdict } from "./describe-head.js"
 * @import { CaseView, SuiteView } from "./describe-suite.js"
 * @typedef {{ failure: string } | { view: SuiteView, final: boolean }} SuiteState
 * @typedef {{ sentence: string, final: boolean }} Refusal final: asking again would not help
 * @typedef {{ suites: ReadonlyMap<string, SuiteState>, approving: boolean, refusal: Refusal | undefined }} Surroundings
 */
import { h } from "./element.js";

/**
 * @param {HeadView} view
 * @param {Surroundings} around what the page knows besides: suites that were opened, what became of an approval
 * @returns {HTMLElement}
 */
export function renderHead(view, around) {
  return h(
    "section",
    { class: "head", "data-key": view.key, "aria-label": view.title },
    h("div", { class: "row" }, h("h2", {}, untrusted(view.title)), badge(view.verdict)),
    view.reason === undefined ? undefined : h("p", {}, untrusted(view.reason)),
    h("dl", {}, ...view.facts.flatMap((fact) => [h("dt", {}, fact.term), h("dd", {}, factText(fact))])),
    ...renderApproval(view, around),
    h("p", { class: "quiet" }, view.agentsLine),
    ...view.agents.map((agent) => renderAgent(agent, around.suites)),
  );
}

/** @param {HeadView["facts"][number]} fact */
function factText(fact) {
  if ("text" in fact) return untrusted(fact.text);
  return h("time", { datetime: fact.instant }, new Date(fact.instant).toLocaleString());
}

/**
 * @param {HeadView} view
 * @param {Surroundings} around
 */
function renderApproval({ approval }, { approving, refusal }) {
  if (!approval) return [];
  const refused = refusal && h("p", { class: "tone-bad", role: "alert" }, refusal.sentence);
  if (refusal?.final) return [refused];
  return [
    h(
      "button",
      {
        type: "button",
        class: "primary",
        "data-action": "approve",
        "data-number": String(approval.number),
        // Not `disabled`, which would take the focus away.
        "aria-disabled": approving ? "true" : undefined,
      },
      approving ? "Approving…" : "Approve this commit",
    ),
    refused,
    h(
      "p",
      { class: "quiet" },
      "Operators can approve it. Its agents then run with this workspace's model keys.",
    ),
  ];
}

/**
 * @param {AgentView} agent
 * @param {Surroundings["suites"]} suites
 */
function renderAgent({ key, name, verdict, lines, problem, suites: shown }, suites) {
  return h(
    "section",
    { class: "agent", "data-key": key },
    h("div", { class: "row" }, h("h3", {}, untrusted(name)), badge(verdict)),
    ...lines.map((line) => h("p", { class: "quiet" }, untrusted(line))),
    problem &&
      h("p", { class: "tone-bad" }, h("code", {}, untrusted(problem.place)), " ", untrusted(problem.message)),
    ...shown.map(({ id, label }) =>
      h(
        "details",
        { "data-key": id, "data-suite": id },
        h("summary", {}, untrusted(label)),
        renderSuite(suites.get(id), id),
      ),
    ),
  );
}

/**
 * @param {SuiteState | undefined} state undefined while it is loaded
 * @param {string} id
 */
function renderSuite(state, id) {
  if (!state) return h("div", { "aria-busy": "true" }, h("p", { class: "quiet" }, "Loading…"));
  if ("failure" in state) return h("div", {}, h("p", { class: "tone-bad", role: "alert" }, state.failure));
  const { verdict, summary, error, cases } = state.view;
  return h(
    "div",
    {},
    h("p", {}, badge(verdict), " ", untrusted(summary)),
    error === undefined ? undefined : h("p", { class: "tone-bad" }, untrusted(error)),
    ...cases.map((evalCase) => renderCase(evalCase, id)),
  );
}

/**
 * @param {CaseView} evalCase
 * @param {string} suiteId
 */
function renderCase({ key, name, verdict, assertions, judge, footnote, input, output }, suiteId) {
  const checks = assertions.map((check) =>
    h("li", {}, word(check.verdict), " ", h("code", {}, untrusted(check.kind)), " ", untrusted(check.detail)),
  );
  return h(
    "details",
    // What failed is what the reader came for. The key changes with the verdict, so that a case opens when it fails.
    {
      class: "case",
      "data-key": `${suiteId} ${key} ${verdict.tone}`,
      open: verdict.tone === "bad" || undefined,
    },
    h("summary", {}, badge(verdict), " ", untrusted(name)),
    h(
      "div",
      {},
      checks.length === 0 ? undefined : h("ul", { "aria-label": "Assertions" }, ...checks),
      judge && h("p", {}, "Judge: ", word(judge.verdict), " ", untrusted(judge.reason)),
      ...textBlock("Input", name, input),
      ...(output === undefined
        ? [h("p", { class: "quiet" }, "No output.")]
        : textBlock("Output", name, output)),
      h("p", { class: "quiet" }, untrusted(footnote)),
    ),
  );
}

/**
 * @param {string} what
 * @param {string} name
 * @param {string} text
 */
function textBlock(what, name, text) {
  return [
    h("p", {}, what),
    // Reachable by keyboard, since it may have to be scrolled.
    h("pre", { tabindex: "0", role: "region", "aria-label": `${what} of ${name}`, dir: "auto" }, text),
  ];
}

/** @param {Verdict} verdict */
function badge({ word: text, tone }) {
  return h("span", { class: `badge tone-${tone}` }, text);
}

/** @param {Verdict} verdict */
function word({ word: text, tone }) {
  return h("strong", { class: `tone-${tone}` }, text);
}

/**
 * Text that others wrote: what runs backwards in it turns nothing around it.
 * @param {string} text
 */
function untrusted(text) {
  return h("span", { class: "untrusted", dir: "auto" }, text);
}
