import { type DocumentFormat, parseDocument } from "./parse-document.ts";

/** The lines, from 1, on which the cases of an eval file begin, in their order; none when it cannot be parsed. */
export function caseLines(text: string, format: DocumentFormat): number[] {
  const document = parseDocument(text, format);
  if (!document.ok || typeof document.value !== "object" || document.value === null) return [];
  const cases = "cases" in document.value ? document.value.cases : undefined;
  return Array.isArray(cases) ? cases.map((_, index) => document.locate(["cases", index]).line) : [];
}
