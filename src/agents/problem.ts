/** Something in a file of the repository that its author has to correct. */
export interface Problem {
  /** One or two sentences for the author, with no control characters from the document. */
  message: string;
  /** The place inside the document, for example `cases[2].assert.regex`; '' for the whole file. */
  path: string;
  /** From 1. */
  line: number;
  /** From 1, counted in UTF-16 units as editors do. */
  column: number;
}

/** Keys and indexes from the root of a document to one place in it. */
export type DocumentPath = readonly PropertyKey[];

const longestShown = 60;
const longestPath = 200;
const mostProblems = 50;

/** A problem of the file as such, shown at its beginning. */
export function wholeFile(message: string): Problem {
  return { message, path: "", line: 1, column: 1 };
}

/** A word of the document as it appears inside a message: in backticks, shortened, on one line. */
export function shown(word: string, longest = longestShown): string {
  return `\`${printable(word.length > longest ? `${word.slice(0, longest)}…` : word)}\``;
}

/**
 * Replaces what could steer a terminal, break a log line or reorder the text around it: control characters,
 * line and paragraph separators, bidirectional overrides and lone surrogates. Tabs become single spaces.
 */
export function printable(text: string): string {
  return (
    text
      .toWellFormed()
      .replaceAll("\t", " ")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go
      .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "\ufffd")
  );
}

/** Writes a place as `cases[2].assert.regex`; keys that are no plain words are quoted. */
export function pathText(path: DocumentPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[\w$-]+$/.test(String(part))) text += `${text && "."}${String(part)}`;
    else text += `[${JSON.stringify(printable(String(part)))}]`;
    if (text.length > longestPath) return `${text.slice(0, longestPath)}…`;
  }
  return text;
}

/** Puts problems in the order of the file, and keeps a list that a hostile file made endless to what people read. */
export function presentProblems(problems: readonly Problem[]): Problem[] {
  const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  if (sorted.length <= mostProblems) return sorted;
  const left = sorted.length - mostProblems;
  return [...sorted.slice(0, mostProblems), wholeFile(`${left} more problems are not shown.`)];
}
