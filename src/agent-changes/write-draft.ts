import type { Agents, DerivedAgent, ReadAgentAt } from "../agents/index.ts";
import type { Connections } from "../connections/index.ts";
import { frameworkSpecs } from "../frameworks/index.ts";
import { type ModelConnection, type ModelKeys, resolveModel } from "../models/index.ts";
import { AppError } from "../platform/errors.ts";
import type { RepositoryReader } from "../repositories/index.ts";
import type { Settings } from "../settings/index.ts";
import type { Author, AuthorTask } from "./author.ts";
import { readAgentTool, searchToolsTool, suggestScheduleTool } from "./author-tools.ts";
import { checkEvals, checkSpec, type SpecPlace, type SpecRules } from "./check-files.ts";
import type { CheckSchedule } from "./ports.ts";
import { authorInstructions, taskMessage } from "./prompt.ts";
import { readSchedule } from "./read-schedule.ts";
import type { Draft, SuggestedAutomation } from "./schema.ts";
import type { ChangeRow } from "./store.ts";
import { templateEvals, templateNote, templateSpec } from "./template.ts";
import { createWorkbench, type Workbench } from "./workbench.ts";

/** Ends a change for good; the message says to the member what to do. */
export class ChangeFailed extends Error {}

export interface DraftDeps {
  agents: Pick<Agents, "get" | "list" | "check">;
  connections: Pick<Connections, "tools">;
  reader: Pick<RepositoryReader, "head" | "tree">;
  readAgentAt: ReadAgentAt;
  settings: Pick<Settings, "authoring" | "modelKeys">;
  author: Author;
  checkSchedule: CheckSchedule;
}

/** What a draft is made from. */
interface Material {
  row: ChangeRow;
  place: SpecPlace;
  /** The agent as the repository has it; undefined for a new one. */
  current: DerivedAgent | undefined;
  rules: SpecRules;
  keys: ModelKeys;
}

const agentsNamed = 40;
const longestSummary = 2_000;
const echo = "offline/echo";

/** Makes the function that writes the texts of a change. Throws ChangeFailed, RunFailure and RepositoryUnavailable. */
export function createWriteDraft(deps: DraftDeps) {
  const { agents, connections, reader, readAgentAt, settings } = deps;

  async function writeDraft(
    row: ChangeRow,
    { signal, till }: Pick<AuthorTask, "signal" | "till">,
  ): Promise<{ baseSha: string; draft: Draft }> {
    const baseSha = await reader.head();
    const current = await currentAgent(row, baseSha);
    const user = { workspaceId: row.workspace_id, login: row.requested_by };
    const [tools, keys, { model }] = await Promise.all([
      connections.tools(user),
      settings.modelKeys(row.workspace_id),
      settings.authoring(row.workspace_id),
    ]);
    const place = placeOf(row, current);
    const before = current?.spec;
    const neighbours = await neighboursOf(place, baseSha);
    const rules: SpecRules = {
      ...{ place, tools, before, neighbours },
      refuseModel: (ref) => refusal(ref, keys),
    };
    const material = { row, place, current, rules, keys };
    const writer = writingModel(model, keys);
    const draft = writer ? await byModel(material, writer, { signal, till }) : await byTemplate(material);
    return { baseSha, draft: { ...draft, suggestion: draft.suggestion ?? suggestionIn(row) } };
  }

  async function neighboursOf({ framework }: SpecPlace, baseSha: string): Promise<ReadonlySet<string>> {
    const folder = `agents/${framework}/`;
    const paths = (await reader.tree(baseSha)).map(({ path }) => path);
    return new Set(paths.filter((path) => path.startsWith(folder)).flatMap((path) => nameIn(path) ?? []));
  }

  async function currentAgent(row: ChangeRow, baseSha: string): Promise<DerivedAgent | undefined> {
    const found = await readAgentAt(baseSha, row.agent);
    if (row.kind === "create") {
      const taken = (await reader.tree(baseSha)).find(({ path }) => nameIn(path) === row.agent);
      if (taken) throw new ChangeFailed(`${taken.path} is there already; choose another name.`);
      return undefined;
    }
    if (found?.path !== row.agent_path)
      throw new ChangeFailed(`The agent ${row.agent} is not at ${row.agent_path} any more; ask anew.`);
    if (found.specText === undefined)
      throw new ChangeFailed(`${row.agent_path} cannot be read as text; repair it in the repository first.`);
    return found;
  }

  async function byModel(
    material: Material,
    model: ModelConnection,
    { signal, till }: Pick<AuthorTask, "signal" | "till">,
  ): Promise<Draft> {
    const { row, place, current, rules } = material;
    const schema = frameworkSpecs.get(place.framework);
    if (!schema) throw new ChangeFailed(`There is no framework ${place.framework}; move the agent first.`);
    const user = { workspaceId: row.workspace_id, login: row.requested_by };
    const spec = createWorkbench({
      noun: "SPEC",
      format: place.format,
      current: current?.specText,
      check: (text) => checkSpec(agents.check, text, rules),
    });
    const evals = row.include_evals === 1 ? evalBench(material) : undefined;
    let suggestion: SuggestedAutomation | undefined;
    const { summary, usage } = await deps.author({
      model,
      instructions: authorInstructions(place.framework, schema),
      message: await messageOf(material, evals !== undefined, model.ref),
      tools: [
        readAgentTool((name) => specOf(user, name)),
        searchToolsTool(rules.tools),
        suggestScheduleTool(deps.checkSchedule, (made) => {
          suggestion = made;
        }),
        spec.tool,
        ...(evals ? [evals.tool] : []),
      ],
      signal,
      till,
    });
    return {
      ...resultOf(material, spec, evals),
      summary: summary.trim().slice(0, longestSummary).toWellFormed() || "The model said nothing of it.",
      suggestion: suggestion ?? null,
      usage,
    };
  }

  async function messageOf(material: Material, includeEvals: boolean, model: string): Promise<string> {
    const { row, place, current, rules } = material;
    const user = { workspaceId: row.workspace_id, login: row.requested_by };
    const { agents: others } = await agents.list(user, agentsNamed, undefined);
    const names = others.map(({ name }) => name);
    return taskMessage({
      kind: row.kind,
      place,
      description: row.description,
      includeEvals,
      agents: names.filter((name) => name !== row.agent),
      models: await modelsOf(material, names, model),
      toolCount: rules.tools.length,
      spec: current?.specText,
      evals: current?.evalText,
    });
  }

  function evalBench({ current, rules }: Material): Workbench {
    const format = current?.evalPath?.endsWith(".json") ? "json" : "yaml";
    return createWorkbench({
      noun: "EVALS",
      format,
      current: current?.evalText,
      check: (text) => checkEvals(text, format, rules),
    });
  }

  /** Undefined for an agent that there is not, or one without a readable text. */
  async function specOf(user: { workspaceId: string; login: string }, name: string) {
    const found = await agents.get(user, name).catch((error) => {
      if (error instanceof AppError && error.status === 404) return undefined;
      throw error;
    });
    return found?.spec ?? undefined;
  }

  async function modelsOf(
    { row, rules }: Material,
    names: readonly string[],
    first: string,
  ): Promise<string[]> {
    const user = { workspaceId: row.workspace_id, login: row.requested_by };
    const texts = await Promise.all(names.slice(0, 10).map((name) => specOf(user, name)));
    const used = texts.flatMap(
      (text) => /^\s*"?model"?:\s*"?([a-z0-9-]+\/[^\s",]+)/m.exec(text ?? "")?.[1] ?? [],
    );
    const usable = used.filter((ref) => ref !== echo && rules.refuseModel(ref) === undefined);
    const byUse = [...Map.groupBy(usable, (ref) => ref)].sort(([, a], [, b]) => b.length - a.length);
    return [...new Set([...byUse.map(([ref]) => ref), first])];
  }

  async function byTemplate(material: Material): Promise<Draft> {
    const { row, place, rules } = material;
    if (row.kind === "edit")
      throw new ChangeFailed(
        "Changing an agent needs a language model: a workspace admin sets `model` in the settings.",
      );
    const user = { workspaceId: row.workspace_id, login: row.requested_by };
    const { agents: others } = await agents.list(user, agentsNamed, undefined);
    const [model = echo] = await modelsOf(
      material,
      others.map(({ name }) => name),
      echo,
    );
    const specText = templateSpec({ ...place, description: row.description, model });
    const checked = checkSpec(agents.check, specText, rules);
    if (!checked.value) throw new ChangeFailed(`The template is not valid: ${checked.problems[0]?.message}`);
    const evalText = row.include_evals === 1 ? templateEvals(row) : null;
    return {
      files: [
        { path: row.agent_path, text: specText },
        ...(evalText === null ? [] : [{ path: evalPathOf(row.agent_path), text: evalText }]),
      ],
      specText,
      evalText,
      summary: `A template for ${row.agent}, with the description as its instructions.`,
      notes: [templateNote],
      suggestion: null,
      usage: { input: 0, output: 0, costUsd: 0 },
    };
  }

  /** A schedule that the description names in plain words, when the model noted none. */
  function suggestionIn({ description, agent }: ChangeRow): SuggestedAutomation | null {
    const found = readSchedule(description);
    if (found === undefined) return null;
    try {
      deps.checkSchedule(found.schedule, found.timezone ?? "UTC");
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
    return { ...found, message: `Do your work, ${agent}.` };
  }

  return writeDraft;
}

/** What of the two files is new. Throws ChangeFailed when there is nothing to show. */
function resultOf({ row, current }: Material, spec: Workbench, evals: Workbench | undefined) {
  const specText = spec.text();
  const [problem] = spec.problems();
  if (specText === undefined || (problem && specText === current?.specText)) {
    const why = problem ? `line ${problem.line}: ${problem.message}` : "it wrote none.";
    throw new ChangeFailed(
      `The model did not come to a valid spec: ${why} Describe it in other words and ask again.`,
    );
  }
  const evalText = evals?.text() ?? current?.evalText ?? null;
  const evalPath = current?.evalPath ?? evalPathOf(row.agent_path);
  const files = [
    ...(specText === current?.specText ? [] : [{ path: row.agent_path, text: specText }]),
    ...(evalText === null || evalText === current?.evalText ? [] : [{ path: evalPath, text: evalText }]),
  ];
  if (files.length === 0)
    throw new ChangeFailed("The model left the agent as it is; say in other words what is to change.");
  const [evalProblem] = evals?.problems() ?? [];
  const noEvals = evals && evalText === null ? "The model came to no valid eval file." : undefined;
  const notes = [noEvals, evalProblem && `Its last eval file was not valid: ${evalProblem.message}`];
  return { files, specText, evalText, notes: notes.filter((note) => note !== undefined) };
}

function placeOf(row: ChangeRow, current: DerivedAgent | undefined): SpecPlace {
  const { name, framework, format } = current ?? { name: row.agent, framework: newFramework, format: "yaml" };
  return { name, framework, format: format === "json" ? "json" : "yaml" };
}

/** Framework of agents that are created. */
export const newFramework = "ai-sdk";

const evalPathOf = (specPath: string) => specPath.replace(/\.(yaml|yml|json)$/, ".eval.yaml");

/** The agent's name in a path of a spec or eval file, as file systems that ignore case see it. */
const nameIn = (path: string) =>
  /^agents\/[^/]+\/([^/]+?)(?:\.eval)?\.(?:yaml|yml|json)$/i.exec(path)?.[1]?.toLowerCase();

/** The model that writes; undefined when there is none but the offline echo. Throws ChangeFailed. */
function writingModel(ref: string | null, keys: ModelKeys): ModelConnection | undefined {
  if (ref === null) return undefined;
  const resolved = resolveModel(ref, keys);
  if (!resolved.ok) throw new ChangeFailed(`The model for writing agents cannot be used. ${resolved.reason}`);
  return resolved.model.protocol === "offline" ? undefined : resolved.model;
}

function refusal(ref: string, keys: ModelKeys): string | undefined {
  const resolved = resolveModel(ref, keys);
  return resolved.ok ? undefined : resolved.reason;
}
