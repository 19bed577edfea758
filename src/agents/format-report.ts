import { styleText } from "node:util";
import { type Problem, printable } from "./problem.ts";
import type { ValidatedFile, ValidationResult } from "./validate-paths.ts";

/** Characters of a source line that are shown around a problem. */
const excerptWidth = 100;

type Paint = (style: "bold" | "dim" | "red" | "yellow" | "green", text: string) => string;

/**
 * The result as text for a terminal or a CI log: each file that has something to tell, its problems with the
 * source line and a caret under it, and a sum at the end. Ends with a line feed. Nothing in the files can
 * reach the terminal as a control sequence.
 */
export function formatReport(result: ValidationResult, { colour }: { colour: boolean }): string {
  const paint = painter(colour);
  const blocks = result.files
    .filter(({ problems, warnings }) => problems.length + warnings.length > 0)
    .map((file) => formatFile(file, paint));
  return `${[...blocks, summary(result, paint)].join("\n\n")}\n`;
}

/** One file with its problems, each with the source line and a caret under it, as `formatReport` shows them. */
export function formatProblems(
  file: Pick<ValidatedFile, "path" | "problems" | "text">,
  { colour }: { colour: boolean },
): string {
  return formatFile({ ...file, kind: "other", warnings: [] }, painter(colour));
}

function painter(colour: boolean): Paint {
  return (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text);
}

function formatFile(file: ValidatedFile, paint: Paint): string {
  const lines = file.text?.replace(/^\ufeff/, "").split("\n") ?? [];
  return [
    paint("bold", printable(file.path)),
    ...file.problems.map((problem) => formatProblem(problem, paint("red", "problem"), lines, paint)),
    ...file.warnings.map((warning) => formatProblem(warning, paint("yellow", "warning"), lines, paint)),
  ].join("\n");
}

function formatProblem(problem: Problem, word: string, lines: readonly string[], paint: Paint): string {
  const { message, path, line, column } = problem;
  const head = `  ${line}:${column} ${word}: ${printable(message)}`;
  const source = lines[line - 1];
  // A problem of the whole file is about no line of it.
  if (source === undefined || (path === "" && line === 1 && column === 1)) return head;
  const start = Math.max(0, column - 1 - excerptWidth / 2);
  const excerpt = printable(source.replace(/\r$/, "").slice(start, start + excerptWidth));
  const gutter = `    ${line} | `;
  const caret = `${" ".repeat(gutter.length - 2)}| ${" ".repeat(column - 1 - start)}^`;
  return `${head}\n${paint("dim", gutter)}${excerpt}\n${paint("dim", caret)}`;
}

function summary({ files, problemCount }: ValidationResult, paint: Paint): string {
  const agents = files.filter(({ kind }) => kind === "spec");
  const evals = files.filter(({ kind }) => kind === "sidecar");
  const warningCount = files.reduce((count, { warnings }) => count + warnings.length, 0);
  const checked = `Checked ${plural(agents.length, "agent")} and ${plural(evals.length, "eval file")}:`;
  const warned = warningCount > 0 ? `, ${plural(warningCount, "warning")}` : "";
  if (problemCount === 0) return paint("green", `${checked} no problems${warned}.`);
  const broken = files.filter(({ problems }) => problems.length > 0).length;
  return paint("red", `${checked} ${plural(problemCount, "problem")} in ${plural(broken, "file")}${warned}.`);
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
