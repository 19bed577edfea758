import type { z } from "zod";
import { AgentName, type AgentSpec, AgentSpecBase } from "../frameworks/index.ts";
import { type PlacedHandoff, placeHandoffs } from "./handoffs.ts";
import { checkValue } from "./issue-problems.ts";
import { type DocumentFormat, type ParsedDocument, parseDocument } from "./parse-document.ts";
import { type Problem, presentProblems, shown, wholeFile } from "./problem.ts";

/** The schema that a spec has to fit, by framework id. */
export type SpecSchemas = ReadonlyMap<string, z.ZodType<AgentSpec>>;

export interface SpecInput {
  content: string | Uint8Array;
  format: DocumentFormat;
  /** From the file's name, when it has one; the document has to say the same. */
  name?: string;
  /** From the file's folder, when it has one; the document has to say the same. */
  framework?: string;
}

/**
 * A spec that can be run, or why there is none. Without a spec, `name` and `framework` are those of the path,
 * else what the document says, else ''.
 */
export type ParsedSpec =
  | { spec: AgentSpec; problems: []; handoffs: PlacedHandoff[] }
  | { spec: undefined; name: string; framework: string; problems: Problem[] };

type Document = Extract<ParsedDocument, { ok: true }>;

const longestStated = 191;

/** Parses and checks one spec. Never throws; every problem has a position in the content. */
export function parseSpec(input: SpecInput, schemas: SpecSchemas): ParsedSpec {
  const nameProblems = input.name === undefined ? [] : checkFileName(input.name);
  const document = parseDocument(input.content, input.format);
  const failed = (problems: Problem[], value?: unknown): ParsedSpec => ({
    spec: undefined,
    name: input.name ?? stated(value, "name") ?? "",
    framework: input.framework ?? stated(value, "framework") ?? "",
    problems: presentProblems([...nameProblems, ...problems]),
  });
  if (!document.ok) return failed(document.problems);
  const { spec, problems } = checkDocument(document, input, schemas);
  if (!spec || problems.length > 0 || nameProblems.length > 0) return failed(problems, document.value);
  return { spec, problems: [], handoffs: placeHandoffs(spec, document.locate) };
}

function checkDocument(document: Document, input: SpecInput, schemas: SpecSchemas) {
  const ids = [stated(document.value, "framework"), input.framework];
  const schema = ids.map((id) => (id === undefined ? undefined : schemas.get(id))).find(Boolean);
  // Without a framework nobody knows which other keys there may be.
  const wording = { noun: "a spec", tolerant: schema === undefined };
  const checked = checkValue(schema ?? AgentSpecBase, document.value, document.locate, wording);
  const problems = checked.problems.filter(
    // Whether the framework is the right one is said below, in better words.
    ({ path }) => path !== "framework" || stated(document.value, "framework") === undefined,
  );
  return { spec: checked.value, problems: [...problems, ...checkPlace(document, input, schemas)] };
}

/** Compares what the document says of itself with where it lies. */
function checkPlace({ value, locate }: Document, input: SpecInput, schemas: SpecSchemas): Problem[] {
  const problems: Problem[] = [];
  const add = (key: string, message: string) =>
    problems.push({ message, path: key, ...locate([key], "key") });
  const name = stated(value, "name");
  const framework = stated(value, "framework");
  if (name !== undefined && input.name !== undefined && name !== input.name)
    add("name", `\`name\` is ${shown(name)} but the file is called ${shown(input.name)}; make them equal.`);
  if (framework === undefined) return problems;
  if (input.framework !== undefined && framework !== input.framework)
    add(
      "framework",
      `\`framework\` is ${shown(framework)} but the file lies in ${shown(`agents/${input.framework}`)}; make them equal.`,
    );
  if (!schemas.has(framework)) add("framework", unknownFramework(framework, schemas));
  return problems;
}

function unknownFramework(framework: string, schemas: SpecSchemas): string {
  return `There is no framework ${shown(framework)}; use ${[...schemas.keys()].map((id) => shown(id)).join(" or ")}.`;
}

function checkFileName(name: string): Problem[] {
  if (AgentName.safeParse(name).success) return [];
  return [
    wholeFile(
      `No agent can be called ${shown(name)}; rename the file to 1 to 63 lower-case letters, digits and hyphens.`,
    ),
  ];
}

/** A text at the top of the document, if it is there and no longer than a name can be. */
function stated(value: unknown, key: "name" | "framework"): string | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  const text: unknown = Reflect.get(value, key);
  return typeof text === "string" && text.length <= longestStated ? text : undefined;
}
