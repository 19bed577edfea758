import {
  Composer,
  CST,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { type DocumentPath, printable, shown } from "./problem.ts";
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

/** Later syntax errors of a file mostly follow from the first ones. */
const mostSyntaxErrors = 5;

/** YAML that hides what a reviewer sees, or that reaches beyond plain values. */
const refusedTokens: Partial<Record<string, string>> = {
  anchor: "Anchors are not used in these files; write the value out where it is needed.",
  alias: "Aliases are not used in these files; write the value out where it is needed.",
  tag: "Tags are not used in these files; remove it.",
  "directive-line": "Directives are not used in these files; remove the line.",
};

/**
 * Parses one YAML 1.2 document of plain values. Duplicate keys, anchors, aliases, tags, directives and keys that
 * are no text are faults. Raw control characters have to be refused before, since the lexer uses some as marks.
 * The text is read by tokens first, without recursion, so that depth and number of parts are bounded by the
 * time the library builds its tree. The library's own check for duplicate keys is quadratic and stays off.
 */
export function parseYaml(text: string): SourceResult {
  const read = readTokens(text);
  if ("fault" in read) return { faults: [read.fault] };
  const composer = new Composer({ version: "1.2", schema: "core", strict: true, uniqueKeys: false });
  for (const { contents, errors } of composer.compose(read.tokens, true, text.length)) {
    if (errors.length > 0) return { faults: errors.slice(0, mostSyntaxErrors).map(syntaxFault) };
    if (contents === null) break;
    const faults: Fault[] = [];
    const root = toSource(contents, [], 0, faults);
    return faults.length > 0 ? { faults } : { root };
  }
  return { faults: [{ message: "The file is empty.", at: 0, path: [] }] };
}

function readTokens(text: string): { tokens: CST.Token[] } | { fault: Fault } {
  const tokens: CST.Token[] = [];
  const parser = new Parser();
  const fault = (message: string, at = parser.offset) => ({ fault: { message, at, path: [] } });
  let lexemes = 0;
  let documents = 0;
  let isScalarText = false;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > mostParts) return fault(tooManyParts);
    const refused = isScalarText ? undefined : refusedTokens[CST.tokenType(lexeme) ?? ""];
    if (refused) return fault(refused);
    isScalarText = !isScalarText && lexeme === CST.SCALAR;
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > deepestNesting && depthOf(parser.stack) > deepestNesting) return fault(tooDeep);
  }
  for (const token of parser.end()) tokens.push(token);
  for (const token of tokens) {
    if (token.type !== "document") continue;
    documents += 1;
    if (documents > 1) return fault("The file holds several documents; keep one.", token.offset);
  }
  return { tokens };
}

function depthOf(stack: readonly CST.Token[]): number {
  return stack.filter(
    ({ type }) => type === "block-map" || type === "block-seq" || type === "flow-collection",
  ).length;
}

function syntaxFault(error: { code: string; message: string; pos: [number, number] }): Fault {
  return { message: syntaxMessage(error.code, error.message), at: error.pos[0], path: [] };
}

function syntaxMessage(code: string, message: string): string {
  switch (code) {
    case "TAB_AS_INDENT":
      return "YAML is indented with spaces, not with tabs.";
    case "BLOCK_AS_IMPLICIT_KEY":
      return "There is a second `: ` in this line; put the value in quotes, or the inner mapping on lines of its own.";
    case "BAD_INDENT":
      return "This line is not indented like the lines that it belongs to.";
    case "MULTILINE_IMPLICIT_KEY":
      return "A key and its colon have to be on one line; perhaps a colon is missing.";
    case "MISSING_CHAR":
      if (!message.startsWith("Missing closing")) break;
      return "A text in quotes is still open here; close it where it ends.";
  }
  return `This is not valid YAML: ${printable(message.slice(0, 160)).replace(/[.:]?$/, ".")}`;
}

function toSource(node: Node, path: DocumentPath, before: number, faults: Fault[]): SourceNode {
  const at = node.range?.[0] ?? before;
  if (isMap(node)) return mapToSource(node, path, at, faults);
  if (isSeq(node)) return seqToSource(node, path, at, faults);
  const value = isScalar(node) ? node.value : undefined;
  const message = typeof value === "string" ? textFault(value) : undefined;
  if (message) faults.push({ message, at, path });
  return { value, at };
}

function mapToSource(map: YAMLMap, path: DocumentPath, at: number, faults: Fault[]): SourceNode {
  const value: Record<string, unknown> = {};
  const parts = new Map<string, { keyAt: number; node: SourceNode }>();
  for (const pair of map.items) {
    const keyNode = pair.key as Node | null;
    const keyAt = keyNode?.range?.[0] ?? at;
    const key = isScalar(keyNode) ? keyNode.value : undefined;
    if (typeof key !== "string") {
      const written =
        isScalar(keyNode) && keyNode.source ? ` Put quotes around ${shown(keyNode.source)}.` : "";
      faults.push({ message: `A key has to be text.${written}`, at: keyAt, path });
      continue;
    }
    const message = parts.has(key) ? `The key ${shown(key)} is there twice; keep one.` : keyFault(key);
    if (message) {
      faults.push({ message, at: keyAt, path: [...path, key] });
      continue;
    }
    const valueNode = pair.value as Node | null;
    const node = valueNode ? toSource(valueNode, [...path, key], keyAt, faults) : { value: null, at: keyAt };
    parts.set(key, { keyAt, node });
    value[key] = node.value;
  }
  return { value, at, parts };
}

function seqToSource(seq: YAMLSeq, path: DocumentPath, at: number, faults: Fault[]): SourceNode {
  const parts = new Map<number, { keyAt: number; node: SourceNode }>();
  const value = seq.items.map((item, index) => {
    const node = toSource(item as Node, [...path, index], at, faults);
    parts.set(index, { keyAt: node.at, node });
    return node.value;
  });
  return { value, at, parts };
}
