import { isDeepStrictEqual } from "node:util";
import {
  Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  visit,
  YAMLMap,
  type YAMLSeq,
} from "yaml";

/** One change of a document: what is to stand at a place, or, without a value, that nothing does. */
export interface Edit {
  /** As problems name places: `parameters.maxSteps`, `cases[2].assert.regex`. */
  path: string;
  value?: unknown;
}

export type Edited = { text: string } | { fault: string };

type Path = (string | number)[];

/**
 * Changes a YAML or JSON text and keeps the rest as its author wrote it. In YAML, comments and the order of keys
 * stay everywhere, and every top-level key that is not changed stays byte for byte; of a list, the entries that are
 * in both the old and the new one keep their comments. Never throws; a text that cannot be read, a place that cannot be, or a
 * nonsensical change is a fault.
 */
export function editDocument(text: string, format: "yaml" | "json", edits: readonly Edit[]): Edited {
  try {
    return format === "json" ? editJson(text, edits) : editYaml(text, edits);
  } catch (error) {
    if (error instanceof BadEdit) return { fault: error.message };
    return { fault: "The document could not be changed like this." };
  }
}

class BadEdit extends Error {}

/** Reads a place as problems name it. Throws BadEdit. */
function readPath(text: string): Path {
  const parts: Path = [];
  let at = 0;
  for (const match of text.matchAll(/(?:^|\.)([A-Za-z_$][\w$-]*)|\[(\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\]/gy)) {
    const [whole, word, index, quoted] = match;
    at += whole.length;
    if (index !== undefined) parts.push(Number(index));
    else parts.push(word ?? String(JSON.parse(quoted ?? '""')));
  }
  if (parts.length === 0 || at !== text.length || parts.includes("__proto__"))
    throw new BadEdit(`${JSON.stringify(text.slice(0, 100))} is no place of a document.`);
  return parts;
}

function editYaml(text: string, edits: readonly Edit[]): Edited {
  const before = parseDocument(text);
  const after = parseDocument(text);
  if (after.errors.length > 0 || !isMap(after.contents) || after.contents.flow)
    return { fault: "The document cannot be changed in parts." };
  for (const edit of edits) applyToYaml(after, readPath(edit.path), edit);
  const whole = after.toString(styleOf(text));
  const spliced = splice(text, before, after);
  const same = isDeepStrictEqual(parseDocument(spliced).toJS(), after.toJS());
  if (!same && !isDeepStrictEqual(parseDocument(whole).toJS(), after.toJS()))
    return { fault: "The change cannot be written down faithfully." };
  // What the library made of the whole text says which comments there have to be.
  if (same && isDeepStrictEqual(commentsOf(spliced), commentsOf(whole))) return { text: spliced };
  return { text: whole };
}

function applyToYaml(document: Document, path: Path, { value }: Edit): void {
  requireParent(document.toJS(), path);
  if (value === undefined) {
    document.deleteIn(path);
    return;
  }
  const known = document.getIn(path, true);
  if (isNode(known)) {
    const merged = merge(document, known, value);
    if (merged !== known) document.setIn(path, merged);
  } else document.setIn(path, nodeOf(document, value));
}

/** A list grows by one entry at a time, and nothing is put below a text. Throws BadEdit. */
function requireParent(root: unknown, path: Path): void {
  let value = root;
  for (const [depth, part] of path.entries()) {
    const shown = path.slice(0, depth + 1).join(".");
    if (value === undefined || value === null) {
      if (typeof part === "number" && part > 0) throw new BadEdit(`There is no list at ${shown}.`);
      value = undefined;
      continue;
    }
    if (typeof value !== "object") throw new BadEdit(`There is a plain value above ${shown}.`);
    if (Array.isArray(value) !== (typeof part === "number"))
      throw new BadEdit(`${shown} is no place: a list has numbers, a mapping has keys.`);
    if (Array.isArray(value) && Number(part) > value.length)
      throw new BadEdit(
        `The list above ${shown} has ${value.length} entries; the next one is [${value.length}].`,
      );
    value = Reflect.get(value, part);
  }
}

/** The node with another value; its comments, and those of all parts that stay, are kept. */
function merge(document: Document, node: Node, value: unknown): Node {
  if (isMap(node) && isRecord(value)) return mergeMap(document, node, value);
  if (isSeq(node) && Array.isArray(value)) return mergeList(document, node, value);
  if (isScalar(node) && (value === null || typeof value !== "object")) {
    node.value = value;
    layOut(node);
    return node;
  }
  const made = nodeOf(document, value);
  made.commentBefore = node.commentBefore;
  made.spaceBefore = node.spaceBefore;
  return made;
}

function nodeOf(document: Document, value: unknown): Node {
  const node = document.createNode(value) as Node;
  visit(node, { Scalar: (_key, scalar) => layOut(scalar) });
  return node;
}

/** Lines of a text become lines of the file; white space that a block would swallow is put in quotes. */
function layOut(node: Scalar): void {
  if (typeof node.value !== "string" || !node.value.includes("\n")) return;
  node.type = /^\s|[ \t]\n|[ \t]$/.test(node.value) ? Scalar.QUOTE_DOUBLE : Scalar.BLOCK_LITERAL;
}

function mergeMap(document: Document, map: YAMLMap, value: Record<string, unknown>): YAMLMap {
  for (const pair of [...map.items]) {
    const key = isScalar(pair.key) ? String(pair.key.value) : "";
    if (!Object.hasOwn(value, key)) map.delete(pair.key);
  }
  for (const [key, part] of Object.entries(value)) {
    const known = map.get(key, true);
    map.set(key, isNode(known) ? merge(document, known, part) : nodeOf(document, part));
  }
  return map;
}

function mergeList(document: Document, list: YAMLSeq, values: readonly unknown[]): YAMLSeq {
  const left = list.items.filter(isNode).map((node) => ({ node, value: node.toJS(document) as unknown }));
  const take = (fits: (value: unknown) => boolean) => {
    const index = left.findIndex((each) => fits(each.value));
    return index === -1 ? undefined : left.splice(index, 1)[0]?.node;
  };
  const equal = values.map((value) => take((other) => isDeepStrictEqual(other, value)));
  list.items = values.map((value, index) => {
    const same = equal[index] ?? undefined;
    if (same) return same;
    const namesake = nameOf(value) && take((other) => nameOf(other) === nameOf(value));
    return namesake ? merge(document, namesake, value) : nodeOf(document, value);
  });
  return list;
}

const nameOf = (value: unknown) =>
  isRecord(value) && typeof value.name === "string" ? value.name : undefined;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text with the changed top-level keys written anew, and all else as it is. */
function splice(text: string, before: Document, after: Document): string {
  const old = pairsOf(before);
  const now = new Map(pairsOf(after).map((pair) => [keyOf(pair), pair]));
  const starts = old.map((pair) => startOf(pair));
  let result = text.slice(0, starts[0] ?? 0);
  for (const [index, pair] of old.entries()) {
    const end = starts[index + 1] ?? text.length;
    const part = text.slice(starts[index], end);
    const body = part.slice(0, bodyLength(part));
    const changed = now.get(keyOf(pair));
    now.delete(keyOf(pair));
    if (changed === undefined) result = withoutLastComment(result);
    else result += isDeepStrictEqual(plainValue(changed), plainValue(pair)) ? body : printed(changed, body);
    result += part.slice(body.length);
  }
  const added = [...now.values()].map((pair) => printed(pair, text)).join("");
  return added === "" ? result : `${result.trimEnd()}\n${added}`;
}

const pairsOf = (document: Document) => (isMap(document.contents) ? document.contents.items : []) as Pair[];
const keyOf = ({ key }: Pair) => (isScalar(key) ? String(key.value) : "");
const startOf = ({ key }: Pair) => (isNode(key) ? (key.range?.[0] ?? 0) : 0);
const plainValue = ({ value }: Pair) => (isNode(value) ? value.toJSON() : value);

/** Without the blank lines and the comments at the margin that stand before the next key. */
function bodyLength(part: string): number {
  const tail = /(?:(?:^|(?<=\n))[ \t]*(?:\r?\n|$)|(?<=\n)#[^\n]*(?:\n|$))+$/.exec(part);
  return tail === null ? part.length : tail.index;
}

/** What is said right above a key that goes, goes with it. */
const withoutLastComment = (text: string) => text.replace(/(?<=\n)(?:#[^\n]*\n)+$/, "");

function printed(pair: Pair, text: string): string {
  const copy = pair.clone();
  if (isNode(copy.key)) Object.assign(copy.key, { commentBefore: undefined, spaceBefore: undefined });
  const map = new YAMLMap();
  map.items.push(copy);
  return new Document(map).toString(styleOf(text));
}

/** How the author indents. */
function styleOf(text: string) {
  const indent = /\n( +)\S/.exec(text)?.[1]?.length ?? 2;
  const flatList = /^[A-Za-z_"'][^\n]*:[ \t]*(?:#[^\n]*)?\n-[ \t]/m.test(text);
  return { lineWidth: 0, indent: Math.min(Math.max(indent, 2), 8), indentSeq: !flatList };
}

/** The comments of a text, sorted. */
function commentsOf(text: string): string[] {
  const found: string[] = [];
  let isScalarText = false;
  for (const lexeme of new Lexer().lex(text)) {
    if (!isScalarText && lexeme.startsWith("#")) found.push(lexeme.trim());
    isScalarText = lexeme === "\u001f";
  }
  return found.sort();
}

function editJson(text: string, edits: readonly Edit[]): Edited {
  const root: unknown = JSON.parse(text);
  for (const { path, value } of edits) {
    const parts = readPath(path);
    requireParent(root, parts);
    setPlain(root, parts, value);
  }
  const indent = /^\s*[{[]\r?\n([ \t]+)/.exec(text)?.[1] ?? (text.includes("\n") ? 2 : undefined);
  return { text: `${JSON.stringify(root, null, indent)}${text.endsWith("\n") ? "\n" : ""}` };
}

function setPlain(root: unknown, path: Path, value: unknown): void {
  let holder = root as Record<string | number, unknown>;
  for (const [depth, part] of path.slice(0, -1).entries()) {
    holder[part] ??= typeof path[depth + 1] === "number" ? [] : {};
    holder = holder[part] as Record<string | number, unknown>;
  }
  const last = path.at(-1) ?? "";
  if (value !== undefined) holder[last] = value;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
}
