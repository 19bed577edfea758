import { z } from "zod";
import { nearMatches, orDidYouMean } from "./near-matches.ts";
import type { ParsedDocument } from "./parse-document.ts";
import { type Problem, pathText, shown } from "./problem.ts";

type Issue = z.core.$ZodIssue;
type RawIssue = z.core.$ZodRawIssue;
type Locate = Extract<ParsedDocument, { ok: true }>["locate"];

interface Wording {
  /** What the document is called in a message, for example "a spec". */
  noun: string;
  /** Lets unknown keys at the top pass, unless they look like a mistyped one that is known. */
  tolerant?: boolean;
}

/**
 * Checks a value of a document against a schema and tells its problems in words for the author of the file,
 * each with its position. Messages that the schema brings itself are kept.
 */
export function checkValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  locate: Locate,
  wording: Wording,
): { value: z.output<S>; problems: [] } | { value: undefined; problems: Problem[] } {
  const result = schema.safeParse(value, { error: (issue) => describeIssue(issue, wording) });
  if (result.success) return { value: result.data, problems: [] };
  return { value: undefined, problems: result.error.issues.flatMap((issue) => toProblems(issue, locate)) };
}

function toProblems(issue: Issue, locate: Locate): Problem[] {
  if (issue.code !== "unrecognized_keys")
    return [{ message: issue.message, path: pathText(issue.path), ...locate(issue.path) }];
  // One message a line, in the order of the keys: see describeUnknownKeys.
  const messages = issue.message.split("\n");
  return issue.keys.flatMap((key, index) => {
    const path = [...issue.path, key];
    const message = messages[index];
    return message ? [{ message, path: pathText(path), ...locate(path, "key") }] : [];
  });
}

function describeIssue(issue: RawIssue, { noun, tolerant }: Wording): string {
  const path = issue.path ?? [];
  const what = path.length === 0 ? `${noun[0]?.toUpperCase()}${noun.slice(1)}` : `\`${pathText(path)}\``;
  switch (issue.code) {
    case "invalid_type":
      return describeType(what, String(issue.expected), issue.input);
    case "too_small":
      return describeSize(what, "at least", String(issue.origin), issue.minimum, issue.inclusive !== false);
    case "too_big":
      return describeSize(what, "at most", String(issue.origin), issue.maximum, issue.inclusive !== false);
    case "invalid_value":
      if (issue.input === undefined) return `${what} is required.`;
      return `${what} has to be ${(issue.values as unknown[]).map((value) => shown(String(value))).join(" or ")}.`;
    case "unrecognized_keys":
      return describeUnknownKeys(
        issue,
        path.length === 0 ? noun : what,
        tolerant === true && path.length === 0,
      );
    default:
      return `${what} does not have a form that is allowed here.`;
  }
}

function describeType(what: string, expected: string, input: unknown): string {
  const wanted = kinds[expected] ?? expected;
  if (input === undefined) return `${what} is required.`;
  if (input === null) return `${what} has no value; it has to be ${wanted}.`;
  const quote = expected === "string" && typeof input !== "object" ? "; put it in quotes" : "";
  return `${what} has to be ${wanted}, not ${kindOf(input)}${quote}.`;
}

const kinds: Partial<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping of keys to values",
  record: "a mapping of keys to values",
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return `the number ${value}`;
  return kinds[typeof value] ?? "this";
}

function describeSize(
  what: string,
  bound: string,
  origin: string,
  limit: unknown,
  inclusive: boolean,
): string {
  const amount = Number(limit).toLocaleString("en");
  switch (origin) {
    case "string":
    case "array": {
      const unit = origin === "string" ? "character" : "entry";
      const units = origin === "string" ? "characters" : "entries";
      return `${what} has to have ${bound} ${amount} ${amount === "1" ? unit : units}.`;
    }
    default:
      if (inclusive) return `${what} has to be ${bound} ${amount}.`;
      return `${what} has to be ${bound === "at least" ? "more" : "less"} than ${amount}.`;
  }
}

/**
 * One sentence a key, with line feeds between them: an issue has room for only one message. Keys that are to
 * be tolerated get an empty one.
 */
function describeUnknownKeys(issue: RawIssue, where: string, tolerant: boolean): string {
  const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
  const keys = Array.isArray(issue.keys) ? issue.keys.map(String) : [];
  const sentence = (key: string) => {
    if (tolerant && nearMatches(key, known).length === 0) return "";
    return `${shown(key)} is not a key of ${where}${orDidYouMean(key, known)}`;
  };
  return keys.map(sentence).join("\n");
}
