import { isUtf8 } from "node:buffer";
import { parseJson } from "./parse-json.ts";
import { parseYaml } from "./parse-yaml.ts";
import { type DocumentPath, type Problem, pathText, presentProblems, wholeFile } from "./problem.ts";
import { codePoint, controlCharacter, offsetOf, type SourceResult } from "./source-tree.ts";

export type DocumentFormat = "yaml" | "json";

/** A place in a text, both from 1; the column counts UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** Specs and eval files may be this long, in bytes of UTF-8. */
export const maxDocumentBytes = 128 * 1024;

export type ParsedDocument =
  | {
      ok: true;
      /** Plain objects, arrays, strings, numbers, booleans and null. */
      value: unknown;
      /** Where a value (or its key) was written; a path that does not exist is located at its nearest parent. */
      locate(path: DocumentPath, target?: "key" | "value"): Position;
    }
  | { ok: false; problems: Problem[] };

/**
 * Parses one spec or eval file. Never throws: whatever is wrong with the content (not UTF-8, over 128 KiB,
 * control characters, syntax, duplicate keys, YAML anchors, nesting) comes back as problems with positions.
 * A byte order mark at the beginning is skipped. The worst document of that size takes a quarter of a second.
 */
export function parseDocument(content: string | Uint8Array, format: DocumentFormat): ParsedDocument {
  const size = typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
  if (size > maxDocumentBytes)
    return refused(wholeFile(`The file is over ${maxDocumentBytes / 1024} KiB; make it shorter.`));
  if (typeof content !== "string" && !isUtf8(content)) return refused(notUtf8(content));
  const text = decodeText(content).replace(/^\ufeff/, "");
  const lineStarts = startsOfLines(text);
  const position = (at: number) => positionOf(lineStarts, Math.min(at, text.length));
  const control = controlCharacter.exec(text);
  if (control) {
    const message = `The file has the control character ${codePoint(control[0])}; remove it.`;
    return refused({ message, path: "", ...position(control.index) });
  }
  const result = parseText(text, format);
  if ("root" in result) {
    return {
      ok: true,
      value: result.root.value,
      locate: (path, target = "value") => position(offsetOf(result.root, path, target)),
    };
  }
  const problems = result.faults.map(({ message, at, path }) => ({
    message,
    path: pathText(path),
    ...position(at),
  }));
  return { ok: false, problems: presentProblems(problems) };
}

/** The text as it is shown to people. Bytes that are no UTF-8 become U+FFFD; a byte order mark stays. */
export function decodeText(content: string | Uint8Array): string {
  return typeof content === "string"
    ? content
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
}

function parseText(text: string, format: DocumentFormat): SourceResult {
  try {
    return format === "json" ? parseJson(text) : parseYaml(text);
  } catch {
    // A defect of a parser must not stop the reading of the whole repository.
    return {
      faults: [{ message: `The file could not be read as ${format.toUpperCase()}.`, at: 0, path: [] }],
    };
  }
}

function refused(problem: Problem): ParsedDocument {
  return { ok: false, problems: [problem] };
}

function notUtf8(bytes: Uint8Array): Problem {
  const message = "The file is not UTF-8 text; save it in that encoding.";
  for (let start = 0, line = 1; start < bytes.length; line += 1) {
    // No UTF-8 sequence contains the byte of a line feed, so each line is valid or not by itself.
    const end = bytes.indexOf(0x0a, start);
    const lineBytes = bytes.subarray(start, end === -1 ? bytes.length : end);
    if (!isUtf8(lineBytes))
      return { message, path: "", line, column: decodeText(lineBytes).indexOf("\ufffd") + 1 };
    if (end === -1) break;
    start = end + 1;
  }
  return wholeFile(message);
}

function startsOfLines(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function positionOf(lineStarts: readonly number[], at: number): Position {
  let low = 0;
  let high = lineStarts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((lineStarts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: at - (lineStarts[low] ?? 0) + 1 };
}
