import { printable } from "../agents/index.ts";
import { shortLine } from "../platform/short-line.ts";
import type { Draft, Evaluation } from "./schema.ts";
import type { ChangeRow } from "./store.ts";

/** Branch that belongs to one change alone. */
export const branchOf = ({ agent, id }: Pick<ChangeRow, "agent" | "id">): string =>
  `rollcall/${agent.slice(0, 63)}-${id.toLowerCase().replaceAll("_", "-")}`;

/** What is written into the commit and the pull request; `url` is the page of the task. */
export function describeChange(row: ChangeRow, draft: Draft, evaluation: Evaluation, url: string) {
  const title = `${row.kind === "create" ? "Add" : "Change"} the agent ${shortLine(row.agent, 70)}`;
  // Logins of members are no accounts of the repository's host: nobody there is named as an author for them.
  const message = `${title}\n\n${wrapped(unlinked(draft.summary))}\n\nRequested-by: ${shortLine(row.requested_by, 191)}\n`;
  return { title, message, body: bodyOf(row, draft, evaluation, url) };
}

function bodyOf(row: ChangeRow, draft: Draft, evaluation: Evaluation, url: string): string {
  const { suggestion } = draft;
  return [
    `Written for ${code(row.requested_by)} by Rollcall's authoring agent ([task](${url})). Read it as you would read anybody's change.`,
    "",
    "**Asked for**",
    "",
    quoted(row.description, 4_000),
    "",
    "**What changed**",
    "",
    quoted(draft.summary, 2_000),
    "",
    ...draft.files.map(({ path }) => `- ${code(path)}`),
    ...draft.notes.map((note) => `- ${code(note, 400)}`),
    "",
    "**Evals**",
    "",
    ...evalLines(evaluation),
    ...(suggestion === null
      ? []
      : [
          "",
          `The description names a time (${code([suggestion.schedule, suggestion.timezone].filter(Boolean).join(" "))}). Nothing is scheduled: whoever wants that makes an automation of it.`,
        ]),
  ].join("\n");
}

function evalLines({ status, passedCount, totalCount, reason, cases }: Evaluation): string[] {
  const why = reason === undefined ? [] : ["", code(reason, 500)];
  switch (status) {
    case "skipped":
      return ["The evals were not run to their end.", ...why];
    case "error":
      return ["The evals could not be run.", ...why];
    case "passed":
    case "failed":
      return [
        `${passedCount} of ${totalCount} cases passed.`,
        "",
        "| Case | Result | Judge |",
        "| --- | --- | --- |",
        ...cases.map(
          ({ name, passed, judgePassed, detail }) =>
            `| ${code(name)} | ${passed ? "passed" : `failed: ${code(detail, 300)}`} | ${opinion(judgePassed)} |`,
        ),
      ];
  }
}

const opinion = (judgePassed: boolean | null) =>
  judgePassed === null ? "–" : judgePassed ? "good" : "not good";

/** A code span for a line or a cell: nothing in it is markup, and no mention is made of what looks like one. */
function code(text: string, most = 200): string {
  const plain = shortLine(printable(text), most).replaceAll("`", "´").replaceAll("|", "¦");
  return plain === "" ? "`(empty)`" : `\`${plain}\``;
}

/** Lines of any text as a block of code by indentation, which no line can end. */
function quoted(text: string, most: number): string {
  const lines = text.slice(0, most).split(/\r\n|\r|\n/);
  return lines.map((line) => `    ${printable(line)}`).join("\n");
}

/**
 * Takes out of a commit's message what hosts act on: closing keywords and issues, mentions, marks that skip checks.
 * Messages have no code spans to put it in.
 */
function unlinked(text: string): string {
  return text
    .replace(/(?<=\w)#(?=\d)/g, " no. ")
    .replace(/\bGH-(?=\d)|#(?=\d)/gi, "no. ")
    .replace(/@(?=[\w[])/g, "at ")
    .replace(/:\/\//g, ": ")
    .replace(/[[\]]/g, (bracket) => (bracket === "[" ? "(" : ")"));
}

/** Lines of at most 72 characters where there are spaces to break at. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const paragraph of text.split(/\r\n|\r|\n/)) {
    let line = "";
    for (const word of printable(paragraph).split(" ")) {
      if (line !== "" && line.length + word.length >= 72) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line.trimEnd());
  }
  // A line with a colon at the end of a message could be taken for a trailer.
  return `${lines.join("\n").trim()}\n`.trimEnd();
}
