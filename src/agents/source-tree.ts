import type { DocumentPath } from "./problem.ts";

/** A parsed value together with the offsets in the text that it and its parts were written at. */
export interface SourceNode {
  value: unknown;
  at: number;
  /** Present on mappings (by key) and lists (by index); `keyAt` of a list entry is the entry's own offset. */
  parts?: ReadonlyMap<string | number, { keyAt: number; node: SourceNode }>;
}

/** Why a text could not be taken as a document, at an offset of the text. */
export interface Fault {
  message: string;
  at: number;
  path: DocumentPath;
}

/** Either a whole tree or at least one fault, never both. */
export type SourceResult = { root: SourceNode } | { faults: readonly Fault[] };

/** Collections inside collections; frameworks need four levels, and both parsers recurse once a level. */
export const deepestNesting = 64;

/** What a parser takes apart before it gives up; it bounds the time that one hostile file costs. */
export const mostParts = 20_000;

export const tooDeep = `Values are nested more than ${deepestNesting} levels deep; make the document flatter.`;

export const tooManyParts =
  "The document has too many parts; it does not look like a file written for an agent.";

/** The offset of the deepest part of the path that exists. `target` chooses between a key and its value. */
export function offsetOf(root: SourceNode, path: DocumentPath, target: "key" | "value"): number {
  let node = root;
  let at = root.at;
  for (const part of path) {
    const entry = typeof part === "symbol" ? undefined : node.parts?.get(part);
    if (!entry) return node.at;
    node = entry.node;
    at = target === "key" ? entry.keyAt : node.at;
  }
  return at;
}

/** Says what is wrong with a decoded string that would be stored, logged and sent to models, or undefined. */
export function textFault(text: string): string | undefined {
  if (!text.isWellFormed()) return "This text has half of a surrogate pair; write the whole character.";
  const found = controlCharacter.exec(text)?.[0];
  return found === undefined
    ? undefined
    : `This text has the control character ${codePoint(found)}; remove it.`;
}

/** Says why a string cannot be a key, or undefined. */
export function keyFault(key: string): string | undefined {
  // Assigned as a key it would replace the prototype of the object that is being built.
  if (key === "__proto__") return "`__proto__` cannot be a key here; remove it.";
  return textFault(key);
}

/** The first control character other than tab, line feed and carriage return. */
export const controlCharacter =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

/** Writes a character as U+0007. */
export function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
