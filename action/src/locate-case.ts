import { isMap, isSeq, LineCounter, parseDocument } from "yaml";

/** The line, from 1, on which the case of this name begins; 1 when it cannot be found. JSON is YAML here. */
export function caseLine(evalText: string, name: string): number {
  const lines = new LineCounter();
  const cases = parseDocument(evalText, { lineCounter: lines, logLevel: "silent" }).get("cases", true);
  if (!isSeq(cases)) return 1;
  const found = cases.items.find((item) => isMap(item) && item.get("name") === name);
  const start = isMap(found) ? found.range?.[0] : undefined;
  return start === undefined ? 1 : lines.linePos(start).line;
}
