/** What a search looks at. */
export interface FindableTool {
  slug: string;
  name: string;
  provider: string;
  description: string;
}

const mostFound = 15;

/** Words that every description has. */
const fillers: ReadonlySet<string> = new Set(
  "a an and any for from in into of on or that the this to with".split(" "),
);

/**
 * The tools that fit some words best, at most 15: those with more of the words first, words of the slug counting more
 * than words of the description.
 */
export function findTools<T extends FindableTool>(tools: readonly T[], query: string): T[] {
  const words = [...new Set(wordsOf(query))].filter((word) => !fillers.has(word));
  const rated = tools.map((tool) => ({ tool, score: scoreOf(tool, words) }));
  return rated
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.slug < b.tool.slug ? -1 : 1))
    .slice(0, mostFound)
    .map(({ tool }) => tool);
}

function scoreOf(tool: FindableTool, words: readonly string[]): number {
  const strong = wordsOf(`${tool.slug} ${tool.name} ${tool.provider}`);
  const weak = wordsOf(tool.description);
  const rate = (word: string) => (strong.some(likes(word)) ? 3 : weak.some(likes(word)) ? 1 : 0);
  return words.reduce((sum, word) => sum + rate(word), 0);
}

/** `issue` finds `issues`, and the other way round. */
const likes = (word: string) => (other: string) =>
  other === word ||
  (Math.min(word.length, other.length) >= 3 && (other.startsWith(word) || word.startsWith(other)));

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
