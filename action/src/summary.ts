import { annotate } from "./annotate.ts";
import { type Outcome, suiteOutput } from "./outcome.ts";
import { cell } from "./plain-text.ts";

/** GitHub shows at most 1 MiB of a summary; these many lines of each kind stay far below it. */
const mostLines = 200;

/** The job's summary in Markdown: a table of the agents and, if there are any, one of what is wrong. */
export function summarise(outcomes: readonly Outcome[]): string {
  const heading = "## Rollcall evals\n\n";
  if (outcomes.length === 0) return `${heading}No agent was to be evaluated.\n`;
  const agents = table(["Agent", "Result", "Cases passed", "Suite"], outcomes.map(agentRow));
  const faults = outcomes.flatMap((outcome) =>
    annotate(outcome).map(({ title, file, line, message }) => {
      return [title, file === undefined ? "" : `${file}:${line}`, message];
    }),
  );
  if (faults.length === 0) return `${heading}${agents}`;
  return `${heading}${agents}\n### What is wrong\n\n${table(["What", "Where", "Why"], faults)}`;
}

function agentRow(outcome: Outcome): string[] {
  const output = suiteOutput(outcome);
  if (outcome.kind === "skipped") return [outcome.agent, `skipped: ${outcome.reason}`, "", ""];
  if (!output) return [outcome.agent, "", "", ""];
  const { agent, status, passedCount, totalCount, eval_id } = output;
  const counts = totalCount === 0 ? "" : `${passedCount} of ${totalCount}`;
  return [agent, status.replace("_", " "), counts, eval_id ?? ""];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const shown = rows.slice(0, mostLines).map((row) => line(row.map(cell)));
  const rest = rows.length > mostLines ? `\n${rows.length - mostLines} more are not shown.\n` : "";
  return `${line(head)}${line(head.map(() => "---"))}${shown.join("")}${rest}`;
}
