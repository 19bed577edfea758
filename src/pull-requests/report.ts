import { z } from "zod";
import { printable } from "../agents/index.ts";
import type { Verdict, VerdictCase } from "../evals/index.ts";
import { fromJson } from "../platform/db/index.ts";
import type { Annotation, CheckRunReport } from "../repositories/index.ts";
import type { AgentRow } from "./agent-store.ts";
import { agentCount, cut, describeHead, problemOf } from "./describe.ts";
import { boundedLines, code, tableCode } from "./markdown.ts";
import { commitStateOf, hasPassed, type JudgedAgent, type JudgedHead } from "./outcome.ts";

/** A reader takes in no more, and each 50 cost a call. */
const mostAnnotations = 250;

const longestRemark = 1_000;
const longestTitle = 200;

/**
 * What the check run of a commit shows of its heads. As long as something goes on it tells only what is known from
 * the beginning, so that it is sent once and not after each suite.
 */
export function reportOn(heads: readonly JudgedHead[]): CheckRunReport {
  const ended = heads.every(({ state }) => commitStateOf(state) !== "pending");
  const summary = heads.flatMap((head) => [
    ...(heads.length === 1 ? [] : [`### ${titleOf(head)}`, ""]),
    ...(ended ? endedLines(head) : openLines(head)),
    "",
  ]);
  return {
    title: ended ? endedTitle(heads) : "Evals are under way",
    summary: boundedLines(summary),
    annotations: ended ? annotationsOn(heads) : [],
  };
}

function titleOf({ head }: JudgedHead): string {
  const what = head.number === 0 ? "Merge group" : `Pull request ${head.number}`;
  return `${what} into ${code(head.base_ref)}`;
}

function endedTitle(heads: readonly JudgedHead[]): string {
  if (heads.some(({ head }) => head.reason !== null)) return "The evals could not be run";
  const checked = heads.flatMap(({ agents }) => agents).filter(({ row }) => row.outcome !== "no_evals");
  if (checked.length === 0) return "Nothing to evaluate";
  return `${checked.filter(hasPassed).length} of ${agentCount(checked.length)} passed`;
}

/** Of a head that has ended nothing is told either while another one of the commit goes on. */
function openLines(judged: JudgedHead): string[] {
  if (judged.state === "awaiting_approval" || judged.state === "planning") return [describeHead(judged)];
  const waiting = judged.agents.map(({ row }) => `- ${code(row.agent)}: ${openWord(row)}`);
  return ["These agents change:", "", ...(waiting.length === 0 ? ["none"] : waiting)];
}

function openWord({ outcome }: AgentRow): string {
  switch (outcome) {
    case "evals":
      return "evals";
    case "no_evals":
      return "no evals";
    case "invalid":
      return "spec not valid";
    case "eval_invalid":
      return "eval file not valid";
  }
}

function endedLines({ head, agents }: JudgedHead): string[] {
  if (head.reason !== null) return [code(head.reason, longestRemark)];
  if (agents.length === 0) return ["No agents changed."];
  return [
    "| Agent | Base | Head |",
    "| --- | --- | --- |",
    ...agents.map(tableRow),
    ...agents.flatMap(agentLines),
  ];
}

function tableRow({ row, result, base }: JudgedAgent): string {
  const cells = [tableCode(row.agent), base ? score(base) : "–"];
  switch (result.kind) {
    case "verdict":
      cells.push(`${score(result.verdict)}${result.verdict.cached ? " (cached)" : ""}`);
      break;
    case "running":
      cells.push("running");
      break;
    case "error":
      cells.push("could not be run");
      break;
    case "invalid":
    case "no_evals":
      cells.push(openWord(row));
  }
  return `| ${cells.join(" | ")} |`;
}

const score = ({ passedCount, totalCount }: Verdict) => `${passedCount}/${totalCount}`;

/** What there is to say of one agent beside its row of the table; often nothing. */
function agentLines(agent: JudgedAgent): string[] {
  const lines = [...faultLines(agent), ...judgeLines(agent)];
  return lines.length === 0 ? [] : ["", `**${code(agent.row.agent)}**`, "", ...lines];
}

function faultLines({ row, result, base }: JudgedAgent): string[] {
  const problem = problemOf(row);
  if (problem) {
    const { path, line, message } = problem;
    return [`- ${code(path)}, line ${line}: ${code(message, longestRemark)}`];
  }
  if (result.kind === "error") return [`- The evals could not be run: ${code(result.error, longestRemark)}`];
  if (result.kind !== "verdict") return [];
  return failedCases(result.verdict).map((each) => {
    const mark = regressed(each, base) ? ", **passed on the base**" : "";
    return `- ${code(each.name)} failed${mark}: ${code(each.detail, longestRemark)}`;
  });
}

/** Opinions decide nothing, so they are told apart from what does. */
function judgeLines({ result }: JudgedAgent): string[] {
  if (result.kind !== "verdict") return [];
  const judged = result.verdict.cases.filter(({ judgePassed }) => judgePassed !== null);
  if (judged.length === 0) return [];
  const disliked = judged.filter(({ judgePassed }) => judgePassed === false).map(({ name }) => code(name));
  const counts = `${judged.length - disliked.length} of ${judged.length}`;
  return [
    `- For information, the judge's opinion: ${counts} good${disliked.length === 0 ? "." : `; not ${disliked.join(", ")}.`}`,
  ];
}

const failedCases = ({ cases }: Verdict) => cases.filter(({ passed }) => !passed);

/** The case was fine before the change. */
function regressed({ name }: VerdictCase, base: Verdict | undefined): boolean {
  return base?.cases.some((each) => each.name === name && each.passed) ?? false;
}

function annotationsOn(heads: readonly JudgedHead[]): Annotation[] {
  const all = heads.flatMap(({ agents }) => agents.flatMap(annotationsOf));
  // Two heads of one commit tell the same of its files.
  const unique = new Map(all.map((each) => [JSON.stringify([each.path, each.line, each.title]), each]));
  return [...unique.values()].slice(0, mostAnnotations);
}

function annotationsOf({ row, result, base }: JudgedAgent): Annotation[] {
  const problem = problemOf(row);
  if (problem) {
    const { path, line, message } = problem;
    return [annotation(path, line, `${row.agent} is not valid`, message)];
  }
  const path = row.eval_path;
  if (result.kind !== "verdict" || path === null) return [];
  const lines = row.case_lines === null ? [] : fromJson(z.array(z.int()), row.case_lines);
  return result.verdict.cases.flatMap((each, index) => {
    if (each.passed) return [];
    const remark = regressed(each, base) ? `${each.detail} It passed on the base.` : each.detail;
    return [annotation(path, lines[index] ?? 1, `${row.agent}: ${each.name}`, remark)];
  });
}

/** The host shows these as plain text. */
function annotation(path: string, line: number, title: string, message: string): Annotation {
  return {
    path,
    line,
    title: cut(printable(title), longestTitle),
    message: cut(printable(message) || "It failed.", longestRemark),
  };
}
