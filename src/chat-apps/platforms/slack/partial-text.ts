import { isFence, toMrkdwn } from "./mrkdwn.ts";
import { splitText } from "./split-text.ts";

/** Says that a text goes on. */
const goesOn = " …";

/**
 * Markdown that is still being written as one mrkdwn text of at most `limit` characters, its beginning when there is
 * more, with a mark that it goes on. What it leaves open is closed. '' while there is nothing to be seen.
 */
export function partialText(markdown: string, limit: number): string {
  const [begin = ""] = splitText(toMrkdwn(closed(markdown)), limit - goesOn.length);
  return begin.trim() === "" ? "" : begin.trimEnd() + goesOn;
}

/** The text without what is only the beginning of some notation, and with the end of what has begun. */
function closed(markdown: string): string {
  // A pair may be cut as well as anything else.
  const lines = markdown
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()
    .split(/\r\n?|\n/);
  let inFence = lines.filter(isFence).length % 2 === 1;
  let last = lines.pop() ?? "";
  if (inFence && isFence(last)) {
    inFence = false;
    last = (lines.pop() ?? "").trimEnd();
  }
  if (inFence) return [...lines, ...(/^\s*`{1,2}$/.test(last) ? [] : [last])].join("\n");
  // A block that has ended is nobody's beginning.
  return [...lines, isFence(last) ? last : closedLine(last)].join("\n");
}

/** A line outside of code blocks. */
function closedLine(line: string): string {
  const text = line.replace(/[*`]+\s*$/, "").replace(/\[([^\][|]+)\]\([^\s()]*$/, "$1");
  const pieces = text.split(/(`[^`]*`)/);
  const plain = pieces.filter((_, index) => index % 2 === 0);
  if (plain.at(-1)?.includes("`")) return `${text.trimEnd()}\``;
  return plain.join("").split("**").length % 2 === 0 ? `${text.trimEnd()}**` : text;
}
