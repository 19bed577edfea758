import { printable } from "../agents/index.ts";
import { cut } from "./describe.ts";

/** Below the host's 65,535, with room for the last remark. */
const mostBytes = 64_800;

const longestWord = 200;

/**
 * Any text as a code span of Markdown. Inside one nothing is markup, and no mention, reference or link is made of
 * what looks like one, so whatever a spec, a case or a model says is only shown. The one character that could end
 * the span is replaced.
 */
export function code(text: string, most = longestWord): string {
  const plain = printable(text.replaceAll(/\s+/g, " ")).trim().replaceAll("`", "´");
  return plain === "" ? "`(empty)`" : `\`${cut(plain, most)}\``;
}

/** The same for a cell of a table, which a bar would end even inside of a code span. */
export const tableCode = (text: string): string => code(text.replaceAll("|", "¦"));

/** The lines as one text of at most 65,000 bytes; what has no room is counted. */
export function boundedLines(lines: readonly string[]): string {
  let bytes = 0;
  const fitting = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > mostBytes;
  });
  if (fitting < 0) return lines.join("\n").trim();
  return [...lines.slice(0, fitting), "", `${lines.length - fitting} more lines are left out.`].join("\n");
}
