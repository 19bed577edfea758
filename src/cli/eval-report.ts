import { styleText } from "node:util";
import { printable } from "../agents/index.ts";
import type { DiskCase } from "../evals/index.ts";
import { formatTable } from "./table.ts";

/** An agent's eval file and what its cases came to, or why they could not be run. */
export interface SuiteReport {
  agent: string;
  /** The eval file. */
  path: string;
  cases: readonly DiskCase[];
  /** Present when no case was run. */
  problem?: string;
}

/**
 * The results as text: a table of all cases, then each failing check, then a sum. Nothing that a model wrote
 * can reach the terminal as a control sequence.
 */
export function formatEvalReport(suites: readonly SuiteReport[], { colour }: { colour: boolean }): string {
  const paint = (style: "red" | "green", text: string) =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const rows = suites.flatMap(({ agent, cases }) => cases.map((each) => caseRow(agent, each)));
  const table =
    rows.length > 0 ? [formatTable(["AGENT", "CASE", "RESULT", "JUDGE", "TIME", "COST"], rows)] : [];
  const failures = suites.flatMap(describeFailures);
  const all = suites.flatMap(({ cases }) => cases);
  const passed = all.filter((each) => each.passed).length;
  const notRun = suites.filter(({ problem }) => problem !== undefined).length;
  const sum = `${passed} of ${all.length} cases passed${notRun > 0 ? `, ${notRun} eval files were not run` : ""}.`;
  const good = passed === all.length && notRun === 0;
  return [...table, ...failures, paint(good ? "green" : "red", sum)].join("\n\n");
}

function caseRow(agent: string, result: DiskCase): string[] {
  const { passedRuns, runs, opinion } = result;
  const repeated = runs > 1 ? ` (${passedRuns} of ${runs})` : "";
  return [
    agent,
    printable(result.name),
    `${result.passed ? "passed" : "FAILED"}${repeated}`,
    opinion === undefined ? "" : opinion.passed === null ? "none" : opinion.passed ? "pass" : "fail",
    `${result.durationMs} ms`,
    result.costUsd === null ? "unknown" : `$${result.costUsd.toFixed(4)}`,
  ];
}

function describeFailures({ agent, path, cases, problem }: SuiteReport): string[] {
  if (problem !== undefined) return [`${printable(path)}\n  not run: ${printable(problem)}`];
  return cases
    .filter(({ passed }) => !passed)
    .map((each) => {
      const faults = faultsOf(each).map(({ kind, detail }) => `  ${kind}: ${printable(detail)}`);
      return [`${agent}: ${printable(each.name)} (${printable(path)})`, ...faults].join("\n");
    });
}

const faultsOf = ({ assertions }: DiskCase) => assertions.filter(({ passed }) => !passed);

/** The results as JUnit XML, for CI servers: a test suite for each eval file, a test case for each case. */
export function formatJunit(suites: readonly SuiteReport[]): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    ...suites.flatMap(junitSuite),
    "</testsuites>",
    "",
  ].join("\n");
}

function junitSuite({ agent, path, cases, problem }: SuiteReport): string[] {
  const failed = cases.filter(({ passed }) => !passed).length;
  const counts =
    problem === undefined
      ? `tests="${cases.length}" failures="${failed}" errors="0"`
      : 'tests="1" failures="0" errors="1"';
  const seconds = cases.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1_000;
  return [
    `  <testsuite name="${xml(agent)}" file="${xml(path)}" ${counts} time="${seconds}">`,
    ...(problem === undefined
      ? cases.map((each) => junitCase(agent, path, each))
      : [`    <testcase name="${xml(agent)}"><error message="${xml(problem)}"/></testcase>`]),
    "  </testsuite>",
  ];
}

function junitCase(agent: string, path: string, result: DiskCase): string {
  const place = `classname="${xml(agent)}" file="${xml(path)}" time="${result.durationMs / 1_000}"`;
  const open = `    <testcase name="${xml(result.name)}" ${place}`;
  if (result.passed) return `${open}/>`;
  const text = faultsOf(result)
    .map(({ kind, detail }) => `${kind}: ${detail}`)
    .join("\n");
  return `${open}><failure message="${xml(text.split("\n")[0] ?? "")}">${xml(text)}</failure></testcase>`;
}

/** XML 1.0 has no way at all to write most control characters. */
function xml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
