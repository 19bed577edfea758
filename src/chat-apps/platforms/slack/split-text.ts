const fence = "```";

/** What a part may need for closing and opening a code block around its lines. */
const room = 2 * (fence.length + 1);

/**
 * Cuts a text into parts of at most `limit` characters, at ends of lines where there are some and at spaces elsewhere.
 * A code block that is cut is closed at the end of one part and opened again in the next. Never cuts inside of an
 * escaped character, a surrogate pair, a fence or a link that fits. `limit` is at least 50. Returns at least one part.
 */
export function splitText(text: string, limit: number): string[] {
  const parts: string[] = [];
  let lines: string[] = [];
  let length = 0;
  let inCode = false;

  const flush = () => {
    if (lines.length === 0) return;
    parts.push([...lines, ...(inCode ? [fence] : [])].join("\n"));
    lines = inCode ? [fence] : [];
    length = inCode ? fence.length + 1 : 0;
  };

  for (const [line, continued] of text.split("\n").flatMap((each) => piecesOf(each, limit - room))) {
    const full = length + line.length + 1 > limit - fence.length;
    if ((full || continued) && hasContent(lines)) flush();
    lines.push(line);
    length += line.length + 1;
    if ((line.split(fence).length - 1) % 2 === 1) inCode = !inCode;
  }
  if (hasContent(lines) || parts.length === 0) flush();
  const visible = parts.filter((part) => part.trim() !== "");
  return visible.length > 0 ? visible : [text.slice(0, limit)];
}

/** A part that would only open a block again is none. */
const hasContent = (lines: readonly string[]) =>
  lines.length > 1 || (lines.length === 1 && lines[0] !== fence);

/** The line in pieces, each with whether it goes on with one before. */
function piecesOf(line: string, max: number): [string, boolean][] {
  const pieces: [string, boolean][] = [];
  let rest = line;
  while (rest.length > max) {
    const at = cutAt(rest, max);
    pieces.push([rest.slice(0, at), pieces.length > 0]);
    rest = rest.slice(at).replace(/^ /, "");
  }
  return [...pieces, [rest, pieces.length > 0]];
}

function cutAt(line: string, max: number): number {
  const at = cutInText(line, max);
  // What is left of these signs are links: those of the text are escaped.
  const link = line.lastIndexOf("<", at - 1);
  return link > 0 && line.lastIndexOf(">", at - 1) < link ? link : at;
}

function cutInText(line: string, max: number): number {
  const space = line.lastIndexOf(" ", max);
  if (space > max / 2) return space;
  const before = line.slice(0, max);
  const entity = /&[a-z]{0,4}$/.exec(before);
  if (entity) return entity.index;
  const ticks = /`{1,2}$/.exec(before);
  if (ticks && line.charAt(max) === "`") return ticks.index;
  return /[\ud800-\udbff]$/.test(before) ? max - 1 : max;
}
