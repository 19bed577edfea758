/** Longer words are no typing mistakes of each other; it also bounds what one comparison costs. */
const longestWord = 64;

/**
 * The candidates that a mistyped word most likely stands for, nearest first, at most `max`. Upper and lower
 * case count as equal. A word may differ by a third of its letters, three at the most.
 */
export function nearMatches(word: string, candidates: Iterable<string>, max = 3): string[] {
  const wanted = word.toLowerCase();
  if (wanted.length === 0 || wanted.length > longestWord) return [];
  const allowed = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
  const found: { candidate: string; distance: number }[] = [];
  for (const candidate of candidates) {
    if (candidate === word || Math.abs(candidate.length - wanted.length) > allowed) continue;
    const distance = editDistance(wanted, candidate.toLowerCase(), allowed);
    if (distance <= allowed) found.push({ candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return found.slice(0, max).map(({ candidate }) => candidate);
}

/** The end of a sentence that offers near matches, for example "; did you mean `model`?", or "." without any. */
export function orDidYouMean(word: string, candidates: Iterable<string>): string {
  const words = nearMatches(word, candidates).map((match) => `\`${match}\``);
  const last = words.pop();
  if (last === undefined) return ".";
  return `; did you mean ${words.length === 0 ? last : `${words.join(", ")} or ${last}`}?`;
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that make one word the other. Gives up with
 * `limit + 1` as soon as the answer is known to be over the limit, and looks at no cell of the table that
 * could only be over it.
 */
function editDistance(a: string, b: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const first = Math.max(1, row - limit);
    const current: number[] = [];
    current[first - 1] = first === 1 ? row : limit + 1;
    let best = limit + 1;
    for (let column = first; column <= Math.min(b.length, row + limit); column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current[column] = cost;
      best = Math.min(best, cost);
    }
    if (best > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
