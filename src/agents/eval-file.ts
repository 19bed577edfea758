import { z } from "zod";
import { ToolSlug } from "../frameworks/index.ts";
import { checkValue } from "./issue-problems.ts";
import { type DocumentFormat, parseDocument } from "./parse-document.ts";
import { type Problem, presentProblems } from "./problem.ts";

const mostRepeats = 10;

const Fragment = z.string().min(1, "An empty text is part of every output; write the text to look for.");

const Fragments = z.union([Fragment, z.array(Fragment).min(1)], {
  error: (issue) => (issue.code === "invalid_union" ? "Write one text or a list of texts." : undefined),
});

const Tools = z.union([ToolSlug, z.array(ToolSlug).min(1)], {
  error: (issue) => (issue.code === "invalid_union" ? "Write one tool slug or a list of them." : undefined),
});

const Assertions = z
  .strictObject({
    contains: Fragments.optional().describe(
      "The output includes every text; upper and lower case are equal.",
    ),
    not_contains: Fragments.optional().describe("The output includes none of the texts."),
    regex: z
      .string()
      .max(1_000)
      .superRefine((pattern, context) => {
        const message = regexFault(pattern);
        if (message) context.addIssue({ code: "custom", message });
      })
      .optional()
      .describe("JavaScript regular expression, without flags, that the output matches."),
    equals: z.string().optional().describe("The output without white space around it is this text."),
    max_chars: z.int().min(0).optional().describe("Most characters that the output may have."),
    json_schema: z
      .record(z.string(), z.unknown())
      .superRefine((schema, context) => {
        const message = schemaFault(schema);
        if (message) context.addIssue({ code: "custom", message });
      })
      .optional()
      .describe("JSON Schema that the output, read as JSON, has to fit."),
    tool_called: Tools.optional().describe("Slugs of tools; the run called every one of them."),
    tool_not_called: Tools.optional().describe("Slugs of tools; the run called none of them."),
    max_cost_usd: z.number().min(0).optional().describe("Most dollars that the run may cost."),
    max_duration_ms: z.int().min(1).optional().describe("Most milliseconds that the run may take."),
  })
  .check(
    unlessBroken(
      (assertions) => Object.keys(assertions).length > 0,
      "`assert` is empty; write at least one check.",
    ),
  )
  .meta({ minProperties: 1 });

const Case = z
  .strictObject({
    name: z.string().min(1).max(200).describe("What the case shows; each name once in a file."),
    input: z.string().describe("The message that the agent gets."),
    repeats: z
      .int()
      .min(1)
      .max(mostRepeats)
      .optional()
      .describe("How often the case is run; once unless given."),
    minPass: z
      .int()
      .min(1)
      .max(mostRepeats)
      .optional()
      .describe("How many of these runs have to pass; all unless given."),
    assert: Assertions.optional().describe("Checks of the output; all of them have to hold."),
    judge: z
      .strictObject({
        rubric: z.string().min(1).describe("What a good output does, for the model that judges it."),
      })
      .optional()
      .describe("Opinion of a language model; for information only."),
  })
  .check(
    unlessBroken(
      ({ assert, judge }) => assert !== undefined || judge !== undefined,
      "The case checks nothing; give it `assert` or `judge`.",
    ),
  )
  .superRefine(({ repeats = 1, minPass = 1 }, context) => {
    if (minPass <= repeats) return;
    const message = "More runs would have to pass than there are; raise `repeats` or lower this.";
    context.addIssue({ code: "custom", message, path: ["minPass"] });
  })
  .meta({ anyOf: [{ required: ["assert"] }, { required: ["judge"] }] });

/** The eval sidecar of an agent: what it is asked and what has to hold of its answers. */
export const EvalFile = z.strictObject({
  cases: z.array(Case).min(1).max(20).superRefine(checkNames),
});

export type EvalFile = z.infer<typeof EvalFile>;

/** One case of an eval file. */
export type EvalCase = EvalFile["cases"][number];

/** Parses and checks an eval sidecar. Never throws; every problem has a position in the content. */
export function parseEvalFile(
  content: string | Uint8Array,
  format: DocumentFormat,
): { evalFile: EvalFile; problems: [] } | { evalFile: undefined; problems: Problem[] } {
  const document = parseDocument(content, format);
  if (!document.ok) return { evalFile: undefined, problems: document.problems };
  const { value, problems } = checkValue(EvalFile, document.value, document.locate, { noun: "an eval file" });
  if (value === undefined) return { evalFile: undefined, problems: presentProblems(problems) };
  return { evalFile: value, problems: [] };
}

function checkNames(cases: readonly { name: string }[], context: z.RefinementCtx): void {
  const seen = new Map<string, number>();
  for (const [index, { name }] of cases.entries()) {
    const first = seen.get(name);
    if (first === undefined) seen.set(name, index);
    else {
      const message = `Case ${first + 1} has the same name; give each case a name of its own.`;
      context.addIssue({ code: "custom", message, path: [index, "name"] });
    }
  }
}

/**
 * A check of an object as a whole that keeps quiet when something in it is wrong already: a mistyped key is one
 * problem, not also a missing one.
 */
function unlessBroken<T>(holds: (value: T) => boolean, message: string): z.core.CheckFn<T> {
  return (payload) => {
    if (payload.issues.length === 0 && !holds(payload.value))
      payload.issues.push({ code: "custom", message, input: payload.value });
  };
}

function schemaFault(schema: Record<string, unknown>): string | undefined {
  try {
    z.fromJSONSchema(schema);
    return undefined;
  } catch {
    return "This is not a JSON Schema that can be checked; use draft 2020-12 or 7 without references elsewhere.";
  }
}

/** V8 compiles a pattern when it is first used, so this only costs reading it, whatever the pattern would do. */
function regexFault(pattern: string): string | undefined {
  try {
    new RegExp(pattern);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(": ").at(-1) : undefined;
    return `This is not a JavaScript regular expression (${reason ?? "it cannot be read"}).`;
  }
}
