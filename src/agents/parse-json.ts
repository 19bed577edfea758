import { type DocumentPath, shown } from "./problem.ts";
import {
  deepestNesting,
  type Fault,
  keyFault,
  mostParts,
  type SourceNode,
  type SourceResult,
  textFault,
  tooDeep,
  tooManyParts,
} from "./source-tree.ts";

/** Ends the parse; never leaves this file. */
class SyntaxFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

interface Reader {
  text: string;
  at: number;
  parts: number;
  faults: Fault[];
}

/**
 * Parses JSON exactly as RFC 8259 has it and remembers where everything was written, which `JSON.parse` does
 * not. Unlike it, a key that is there twice is a fault, as are control characters and halves of surrogate
 * pairs that were written as escapes.
 */
export function parseJson(text: string): SourceResult {
  const reader: Reader = { text, at: 0, parts: 0, faults: [] };
  try {
    skipSpace(reader);
    if (reader.at === text.length) return { faults: [{ message: "The file is empty.", at: 0, path: [] }] };
    const root = readValue(reader, [], 0);
    skipSpace(reader);
    if (reader.at < text.length)
      throw new SyntaxFault("There is more text after the end of the JSON value.", reader.at);
    return reader.faults.length > 0 ? { faults: reader.faults } : { root };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    return { faults: [{ message: error.message, at: error.at, path: [] }] };
  }
}

function readValue(reader: Reader, path: DocumentPath, depth: number): SourceNode {
  const at = reader.at;
  reader.parts += 1;
  if (reader.parts > mostParts) throw new SyntaxFault(tooManyParts, at);
  switch (reader.text[at]) {
    case "{":
      return readObject(reader, path, depth + 1);
    case "[":
      return readArray(reader, path, depth + 1);
    case '"': {
      const value = readString(reader);
      const message = textFault(value);
      if (message) reader.faults.push({ message, at, path });
      return { value, at };
    }
    default:
      return { value: readWord(reader), at };
  }
}

function readObject(reader: Reader, path: DocumentPath, depth: number): SourceNode {
  const at = reader.at;
  const value: Record<string, unknown> = {};
  const parts = new Map<string, { keyAt: number; node: SourceNode }>();
  readEntries(reader, "}", depth, () => {
    const keyAt = reader.at;
    if (reader.text[keyAt] !== '"') throw new SyntaxFault("A key in double quotes is expected here.", keyAt);
    const key = readString(reader);
    skipSpace(reader);
    if (reader.text[reader.at] !== ":")
      throw new SyntaxFault("A colon is expected here, after the key.", reader.at);
    reader.at += 1;
    skipSpace(reader);
    const message = parts.has(key) ? `The key ${shown(key)} is there twice; keep one.` : keyFault(key);
    if (message) reader.faults.push({ message, at: keyAt, path: [...path, key] });
    const node = readValue(reader, [...path, key], depth);
    if (message) return;
    parts.set(key, { keyAt, node });
    value[key] = node.value;
  });
  return { value, at, parts };
}

function readArray(reader: Reader, path: DocumentPath, depth: number): SourceNode {
  const at = reader.at;
  const value: unknown[] = [];
  const parts = new Map<number, { keyAt: number; node: SourceNode }>();
  readEntries(reader, "]", depth, () => {
    const node = readValue(reader, [...path, value.length], depth);
    parts.set(value.length, { keyAt: node.at, node });
    value.push(node.value);
  });
  return { value, at, parts };
}

/** Reads from the opening bracket to the closing one; `readEntry` starts at and stops after one entry. */
function readEntries(reader: Reader, end: "}" | "]", depth: number, readEntry: () => void): void {
  if (depth > deepestNesting) throw new SyntaxFault(tooDeep, reader.at);
  reader.at += 1;
  skipSpace(reader);
  if (reader.text[reader.at] === end) {
    reader.at += 1;
    return;
  }
  for (;;) {
    readEntry();
    skipSpace(reader);
    const next = reader.text[reader.at];
    if (next !== end && next !== ",")
      throw new SyntaxFault(`A comma or \`${end}\` is expected here.`, reader.at);
    reader.at += 1;
    if (next === end) return;
    skipSpace(reader);
    if (reader.text[reader.at] === end)
      throw new SyntaxFault(`Remove the comma before \`${end}\`.`, reader.at);
  }
}

function readString(reader: Reader): string {
  const start = reader.at;
  let escaped = false;
  for (let at = start + 1; at < reader.text.length; at += 1) {
    const character = reader.text.charCodeAt(at);
    if (character === 0x22) {
      reader.at = at + 1;
      const inner = reader.text.slice(start + 1, at);
      return escaped ? unescapeText(inner, start + 1) : inner;
    }
    if (character === 0x5c) {
      escaped = true;
      at += 1;
    } else if (character < 0x20) {
      throw new SyntaxFault("A line break or tab inside a JSON text is written as \\n, \\r or \\t.", at);
    }
  }
  throw new SyntaxFault("The text that begins here has no closing quote.", start);
}

function unescapeText(inner: string, start: number): string {
  for (const { 0: written, index } of inner.matchAll(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]|[\s\S])/g)) {
    if (written.length === 2 && !'"\\/bfnrt'.includes(written.charAt(1)))
      throw new SyntaxFault(
        "JSON does not know this escape; write a backslash itself as \\\\.",
        start + index,
      );
  }
  // The escapes were just checked and the caller saw to the rest, so this cannot fail.
  const value: unknown = JSON.parse(`"${inner}"`);
  return String(value);
}

function readWord(reader: Reader): unknown {
  const pattern = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  pattern.lastIndex = reader.at;
  const word = pattern.exec(reader.text)?.[0];
  if (word === undefined) throw new SyntaxFault(wordMessage(reader), reader.at);
  reader.at += word.length;
  switch (word) {
    case "true":
      return true;
    case "false":
      return false;
    case "null":
      return null;
    default:
      return Number(word);
  }
}

function wordMessage({ text, at }: Reader): string {
  if (at >= text.length) return "The file ends before the JSON value is complete.";
  if (text[at] === "/" || text[at] === "#") return "JSON has no comments; remove it, or use a YAML file.";
  if (text[at] === "'") return "JSON texts are in double quotes.";
  return "A JSON value is expected here: a text in double quotes, a number, true, false, null, [ or {.";
}

function skipSpace(reader: Reader): void {
  const space = /[ \t\n\r]*/y;
  space.lastIndex = reader.at;
  reader.at += space.exec(reader.text)?.[0].length ?? 0;
}
