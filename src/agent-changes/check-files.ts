import { type Agents, handoffsOf, type Problem, parseEvalFile } from "../agents/index.ts";
import type { AgentSpec } from "../frameworks/index.ts";
import { type FindableTool, findTools } from "./find-tools.ts";

/** A file of the repository by the words of its place. */
export interface SpecPlace {
  name: string;
  framework: string;
  format: "yaml" | "json";
}

export interface SpecRules {
  place: SpecPlace;
  /** The requester's own tool catalog. */
  tools: readonly FindableTool[];
  /** What the spec says already, which stays allowed. */
  before: AgentSpec | undefined;
  /** Names of the agents of the same framework in the repository. */
  neighbours: ReadonlySet<string>;
  /** Why a model cannot be used, in a sentence; undefined when it can. */
  refuseModel(model: string): string | undefined;
}

export type Checked<T> = { value: T; problems: [] } | { value: undefined; problems: Problem[] };

/** Checks a spec as the catalog does and, beyond that, that it names tools, agents and a model that there are. */
export function checkSpec(check: Agents["check"], text: string, rules: SpecRules): Checked<AgentSpec> {
  const { place, before } = rules;
  const { spec, problems } = check(place.name, text, place.format);
  if (!spec) return { value: undefined, problems };
  const found: Problem[] = [];
  const add = (path: string, word: string, message: string) =>
    found.push({ message, path, ...placeOf(text, word) });
  if (spec.framework !== place.framework)
    add("framework", "framework:", `\`framework\` has to be \`${place.framework}\`.`);
  const known = new Set([...rules.tools.map(({ slug }) => slug), ...(before?.connections ?? [])]);
  for (const [index, slug] of spec.connections.entries()) {
    if (!known.has(slug)) add(`connections[${index}]`, slug, unknownTool(slug, rules.tools));
  }
  const reachable = new Set([...rules.neighbours, ...(before ? handoffsOf(before) : [])]);
  for (const [index, name] of handoffsOf(spec).entries()) {
    if (!reachable.has(name))
      add(
        `handoffs[${index}]`,
        name,
        `There is no agent ${name} of ${place.framework}; leave the handoff out.`,
      );
  }
  const refused = spec.model === before?.model ? undefined : rules.refuseModel(spec.model);
  if (refused !== undefined) add("model", spec.model, refused);
  return found.length === 0 ? { value: spec, problems: [] } : { value: undefined, problems: found };
}

/** Checks an eval file as the catalog does, and that what it says of tools is about tools that there are. */
export function checkEvals(
  text: string,
  format: "yaml" | "json",
  { tools, before }: Pick<SpecRules, "tools" | "before">,
): Checked<{ cases: readonly unknown[] }> {
  const { evalFile, problems } = parseEvalFile(text, format);
  if (!evalFile) return { value: undefined, problems };
  const known = new Set([...tools.map(({ slug }) => slug), ...(before?.connections ?? [])]);
  const found = evalFile.cases.flatMap(({ assert = {} }, index) =>
    [assert.tool_called ?? [], assert.tool_not_called ?? []]
      .flat()
      .filter((slug) => !known.has(slug))
      .map((slug) => ({
        message: unknownTool(slug, tools),
        path: `cases[${index}].assert`,
        ...placeOf(text, slug),
      })),
  );
  return found.length === 0 ? { value: evalFile, problems: [] } : { value: undefined, problems: found };
}

function unknownTool(slug: string, tools: readonly FindableTool[]): string {
  const near = findTools(tools, slug.replaceAll("_", " ")).slice(0, 3);
  const hint = near.length === 0 ? "" : ` The nearest are ${near.map((tool) => tool.slug).join(", ")}.`;
  return `There is no tool ${slug} in the catalog; search for one that there is, or leave it out.${hint}`;
}

function placeOf(text: string, word: string): { line: number; column: number } {
  const at = Math.max(0, text.indexOf(word));
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
