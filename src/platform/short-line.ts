/** Foreign text as one line of at most `max` characters, for people: control characters become spaces. */
export function shortLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line;
}
