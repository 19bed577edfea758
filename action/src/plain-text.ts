/** Text of others on one line, shortened, without characters that steer a terminal or reorder what is around it. */
export function plain(text: string, longest = 300): string {
  const line = text
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest).toWellFormed()}…` : line;
}

/**
 * A line of the log. Runners take `::` at the beginning of a line, and `##[` anywhere in it, for a command to
 * themselves; both are broken up.
 */
export function logLine(text: string): string {
  return plain(text, 1_000).replaceAll("##[", "## [").replace(/^::/, ": :");
}

/**
 * Text as it can stand in a cell of a Markdown table: all punctuation becomes character references, which no
 * renderer takes for markup.
 */
export function cell(text: string): string {
  return plain(text).replace(/[^\p{L}\p{N}\p{M} ,…-]/gu, (sign) => `&#${sign.codePointAt(0)};`);
}
