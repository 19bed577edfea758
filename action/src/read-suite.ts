import type { CaseResult, Problem, Suite } from "./outcome.ts";

type Fields = Readonly<Record<string, unknown>>;

const statuses = ["queued", "running", "passed", "failed", "error"] as const;

/** The suite in an answer of the service. Throws when it has none. */
export function readSuite(answer: unknown): Suite {
  const suite = fields(fields(answer).eval);
  const status = statuses.find((each) => each === suite.status);
  if (!status || typeof suite.id !== "string")
    throw new Error("The service's answer is no eval suite; check the input base-url.");
  return {
    id: suite.id,
    status,
    passedCount: count(suite.passedCount),
    totalCount: count(suite.totalCount),
    error: typeof suite.error === "string" ? suite.error : undefined,
    cases: list(suite.cases).map(readCase),
  };
}

/** The id in the answer to a suite that was queued. Throws when it has none. */
export function readEvalId(answer: unknown): string {
  const id = fields(answer).eval_id;
  if (typeof id === "string" && /^[\w-]{1,64}$/.test(id)) return id;
  throw new Error("The service's answer has no eval_id; check the input base-url.");
}

/** What an answer that is no success says: its sentence, and the problems of the file it names. */
export function readRefusal(answer: unknown): {
  error: string | undefined;
  file: "spec" | "eval" | undefined;
  problems: Problem[];
} {
  const { error, details } = fields(answer);
  const { file, problems } = fields(details);
  return {
    error: typeof error === "string" ? error : undefined,
    file: file === "spec" || file === "eval" ? file : undefined,
    problems: list(problems ?? details).map(readProblem),
  };
}

function readProblem(value: unknown): Problem {
  const { message, line, column } = fields(value);
  return { message: String(message ?? ""), line: count(line) || 1, column: count(column) || 1 };
}

function readCase(value: unknown): CaseResult {
  const { name, status, assertions } = fields(value);
  return {
    name: String(name ?? ""),
    status: String(status ?? ""),
    assertions: list(assertions).map((each) => {
      const { kind, passed, detail } = fields(each);
      return { kind: String(kind ?? ""), passed: passed === true, detail: String(detail ?? "") };
    }),
  };
}

const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const count = (value: unknown) => (typeof value === "number" ? value : 0);
