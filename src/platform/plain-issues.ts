import type { z } from "zod";

type RawIssue = z.core.$ZodRawIssue;

const kinds: Partial<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** For `safeParse(…, { error: plainIssue })`: what does not fit in words for the caller; a shape's own messages win. */
export function plainIssue(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "This is required."
        : `Use ${kinds[String(issue.expected)] ?? issue.expected}.`;
    case "invalid_value": {
      const values = (issue.values as unknown[]).map(String);
      return issue.input === undefined
        ? "This is required."
        : `Use ${values.length > 1 ? "one of " : ""}${values.join(", ")}.`;
    }
    case "too_small":
      return `Use at least ${issue.minimum}${unitOf(issue.origin)}.`;
    case "too_big":
      return `Use at most ${issue.maximum}${unitOf(issue.origin)}.`;
    case "unrecognized_keys":
      return "This field is not known here.";
    default:
      return "This does not have a form that is allowed here.";
  }
}

function unitOf(origin: unknown): string {
  if (origin === "string") return " characters";
  return origin === "array" || origin === "set" ? " entries" : "";
}
