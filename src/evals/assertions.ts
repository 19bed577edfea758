import type { EvalCase } from "../agents/index.ts";

export type Assertions = NonNullable<EvalCase["assert"]>;
export type AssertionKind = keyof Assertions | "run" | "output";

/** What one check came to. `detail` is a sentence for the author of the eval file. */
export interface AssertionResult {
  kind: AssertionKind;
  passed: boolean;
  detail: string;
}

/** What a run left behind that can be checked. */
export interface Evidence {
  output: string;
  /** Slugs of the tools that were called. */
  toolCalls: readonly string[];
  /** Null when the model's price is not known. */
  costUsd: number | null;
  durationMs: number;
}

/** Checks whose duration the eval file decides about; they are done elsewhere, with a time limit. */
export interface BoundedChecks {
  regex(pattern: string, text: string): Promise<Verdict>;
  jsonSchema(schema: Record<string, unknown>, text: string): Promise<Verdict>;
}

export type Verdict = { passed: true } | { passed: false; reason: string };

const longestQuote = 120;

/** Checks the output of a run against all assertions of its case, in the order in which the docs list them. */
export async function checkAssertions(
  assertions: Assertions,
  evidence: Evidence,
  bounded: BoundedChecks,
): Promise<AssertionResult[]> {
  const kinds = Object.keys(assertions) as (keyof Assertions)[];
  return Promise.all(
    kinds
      .filter((kind) => assertions[kind] !== undefined)
      .map(async (kind) => toResult(kind, await check(kind, assertions, evidence, bounded))),
  );
}

/** A sentence about what is wrong, undefined when the check holds. */
type Fault = string | undefined;

async function check(
  kind: keyof Assertions,
  assertions: Assertions,
  evidence: Evidence,
  bounded: BoundedChecks,
): Promise<Fault> {
  const { output } = evidence;
  switch (kind) {
    case "contains":
      return missingTexts(output, listOf(assertions.contains));
    case "not_contains":
      return forbiddenTexts(output, listOf(assertions.not_contains));
    case "regex":
      return faultOf(await bounded.regex(assertions.regex ?? "", output));
    case "equals":
      return unequal(output.trim(), assertions.equals ?? "");
    case "max_chars":
      return tooMuch(output.length, assertions.max_chars ?? 0, "characters");
    case "json_schema":
      return faultOf(await bounded.jsonSchema(assertions.json_schema ?? {}, output));
    case "tool_called":
      return notCalled(evidence.toolCalls, listOf(assertions.tool_called));
    case "tool_not_called":
      return called(evidence.toolCalls, listOf(assertions.tool_not_called));
    case "max_cost_usd":
      if (evidence.costUsd === null)
        return "What the run cost is not known, because its model has no known price.";
      return tooMuch(evidence.costUsd, assertions.max_cost_usd ?? 0, "dollars");
    case "max_duration_ms":
      return tooMuch(evidence.durationMs, assertions.max_duration_ms ?? 0, "milliseconds");
  }
}

function toResult(kind: AssertionKind, fault: Fault): AssertionResult {
  return { kind, passed: fault === undefined, detail: fault ?? "The check holds." };
}

function missingTexts(output: string, texts: readonly string[]): Fault {
  const folded = fold(output);
  const missing = texts.filter((text) => !folded.includes(fold(text)));
  return missing.length === 0 ? undefined : `The output does not contain ${quoteAll(missing)}.`;
}

function forbiddenTexts(output: string, texts: readonly string[]): Fault {
  const folded = fold(output);
  const found = texts.filter((text) => folded.includes(fold(text)));
  return found.length === 0 ? undefined : `The output contains ${quoteAll(found)}.`;
}

function unequal(output: string, expected: string): Fault {
  if (output === expected) return undefined;
  return `The output is ${quote(output)}, not ${quote(expected)}.`;
}

function tooMuch(amount: number, most: number, unit: string): Fault {
  return amount <= most ? undefined : `It took ${amount} ${unit}; at most ${most} are allowed.`;
}

function notCalled(calls: readonly string[], wanted: readonly string[]): Fault {
  const missing = wanted.filter((slug) => !calls.includes(slug));
  return missing.length === 0 ? undefined : `The agent did not call ${missing.join(", ")}.`;
}

function called(calls: readonly string[], forbidden: readonly string[]): Fault {
  const found = forbidden.filter((slug) => calls.includes(slug));
  return found.length === 0 ? undefined : `The agent called ${found.join(", ")}.`;
}

const faultOf = (verdict: Verdict): Fault => (verdict.passed ? undefined : verdict.reason);

/** Lower case depends on the neighbours for one letter only, the sigma: a part has to fold as the whole does. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}

function listOf(value: string | string[] | undefined): readonly string[] {
  return typeof value === "string" ? [value] : (value ?? []);
}

function quote(text: string): string {
  return JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text);
}

function quoteAll(texts: readonly string[]): string {
  return texts.map(quote).join(", ");
}
