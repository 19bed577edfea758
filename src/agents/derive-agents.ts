import type { AgentSpec } from "../frameworks/index.ts";
import { parseEvalFile } from "./eval-file.ts";
import type { PlacedHandoff } from "./handoffs.ts";
import { type DocumentFormat, decodeText, maxDocumentBytes } from "./parse-document.ts";
import { parseSpec, type SpecSchemas } from "./parse-spec.ts";
import { type Problem, shown, wholeFile } from "./problem.ts";
import { classifyPath, foldName } from "./spec-path.ts";

/** A mirrored file of the repository: its bytes, or the reason why there are none. */
export interface RepositoryFile {
  path: string;
  blobSha: string;
  content: { bytes: Uint8Array } | { tooLarge: true } | { problem: string };
}

/** An agent of the repository, valid or not. The path is its identity: two files may claim one name. */
export interface DerivedAgent {
  path: string;
  /** As the path has it. */
  name: string;
  /** As the path has it. */
  framework: string;
  format: DocumentFormat;
  blobSha: string;
  /** The file as it is, undefined when its content was not read. */
  specText: string | undefined;
  /** Present when and only when there are no problems. */
  spec: AgentSpec | undefined;
  problems: Problem[];
  /** Where it may leave a run to; whether these agents are there is no matter of its own file. */
  handoffs: PlacedHandoff[];
  /** There is at least one eval file, be it broken. */
  hasEvals: boolean;
  /** The eval file; of several the first by path. The same holds for its text, id and problems. */
  evalPath: string | undefined;
  evalBlobSha: string | undefined;
  evalText: string | undefined;
  evalProblems: Problem[];
}

/** A problem that belongs to no agent. */
export interface CatalogProblem {
  /** Of the file in the repository, unlike in a `Problem`. */
  path: string;
  message: string;
  line: number;
  column: number;
}

export interface DerivedAgents {
  /** Sorted by path. */
  agents: DerivedAgent[];
  /** Sorted by path. */
  catalogProblems: CatalogProblem[];
}

const mostRivals = 5;

interface PlacedFile extends RepositoryFile {
  framework: string;
  name: string;
  format: DocumentFormat;
}

/**
 * Derives the agents of a set of files. What comes out of a file depends only on files with the same
 * `groupKey`: deriving all files, or each group by itself, gives the same agents and problems. Paths that the
 * catalog ignores are left out. Never throws.
 */
export function deriveAgents(files: readonly RepositoryFile[], schemas: SpecSchemas): DerivedAgents {
  const { specs, sidecars } = sortFiles(files);
  const rivals = Map.groupBy(specs, ({ name }) => foldName(name));
  const evals = Map.groupBy(sidecars, placeOf);
  const agents = specs.map((file) => {
    const sameName = rivals.get(foldName(file.name)) ?? [];
    // A few are enough to act on, and a name in thousands of folders must not cost their square.
    const others = sameName.slice(0, mostRivals + 1).filter((other) => other !== file);
    return deriveAgent(file, others.slice(0, mostRivals), evals.get(placeOf(file)) ?? [], schemas);
  });
  const places = new Set(specs.map(placeOf));
  const catalogProblems = sidecars
    .filter((sidecar) => !places.has(placeOf(sidecar)))
    .map((sidecar) => describeOrphan(sidecar, rivals.get(foldName(sidecar.name)) ?? []));
  return { agents, catalogProblems };
}

function sortFiles(files: readonly RepositoryFile[]): { specs: PlacedFile[]; sidecars: PlacedFile[] } {
  const specs: PlacedFile[] = [];
  const sidecars: PlacedFile[] = [];
  for (const file of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const place = classifyPath(file.path);
    if (place.kind === "ignored") continue;
    const { framework, name, format } = place;
    (place.kind === "spec" ? specs : sidecars).push({ ...file, framework, name, format });
  }
  return { specs, sidecars };
}

function deriveAgent(
  file: PlacedFile,
  rivals: readonly PlacedFile[],
  sidecars: readonly PlacedFile[],
  schemas: SpecSchemas,
): DerivedAgent {
  const { path, name, framework, format, blobSha } = file;
  const { spec, problems, handoffs } = deriveSpec(file, rivals, schemas);
  const [sidecar, ...spares] = sidecars;
  return {
    path,
    name,
    framework,
    format,
    blobSha,
    specText: textOf(file),
    spec,
    problems,
    handoffs,
    hasEvals: sidecar !== undefined,
    evalPath: sidecar?.path,
    evalBlobSha: sidecar?.blobSha,
    evalText: sidecar && textOf(sidecar),
    evalProblems: sidecar ? checkSidecar(sidecar, spares) : [],
  };
}

function deriveSpec(
  file: PlacedFile,
  rivals: readonly PlacedFile[],
  schemas: SpecSchemas,
): Pick<DerivedAgent, "spec" | "problems" | "handoffs"> {
  const conflicts = rivals.map((rival) => wholeFile(describeRival(file, rival)));
  const content = readable(file);
  const broken = (problems: Problem[]) => ({
    spec: undefined,
    problems: [...conflicts, ...problems],
    handoffs: [],
  });
  if ("problem" in content) return broken([content.problem]);
  const { format, name, framework } = file;
  const parsed = parseSpec({ content: content.bytes, format, name, framework }, schemas);
  return parsed.spec && conflicts.length === 0 ? parsed : broken(parsed.problems);
}

function describeRival(file: PlacedFile, rival: PlacedFile): string {
  if (rival.name === file.name)
    return `${shown(rival.path, 255)} has the same name; rename or remove one of the two.`;
  return `The name differs only in how it is written from that of ${shown(rival.path, 255)}; rename one of the two.`;
}

function checkSidecar(sidecar: PlacedFile, spares: readonly PlacedFile[]): Problem[] {
  const twins = spares.map(({ path }) =>
    wholeFile(`${shown(path, 255)} is a second eval file of this agent; keep one.`),
  );
  const content = readable(sidecar);
  if ("problem" in content) return [...twins, content.problem];
  return [...twins, ...parseEvalFile(content.bytes, sidecar.format).problems];
}

function describeOrphan(sidecar: PlacedFile, relatives: readonly PlacedFile[]): CatalogProblem {
  const [nearest] = relatives;
  const hint = nearest
    ? `; if it belongs to ${shown(nearest.path, 255)}, put it next to that file under the same name.`
    : "; add the agent or remove this file.";
  const message = `There is no agent ${shown(sidecar.name)} in ${shown(`agents/${sidecar.framework}`)} for this eval file${hint}`;
  return { path: sidecar.path, message, line: 1, column: 1 };
}

function readable({ content }: RepositoryFile): { bytes: Uint8Array } | { problem: Problem } {
  if ("bytes" in content) return content;
  if ("problem" in content) return { problem: wholeFile(content.problem) };
  return { problem: wholeFile(`The file is over ${maxDocumentBytes / 1024} KiB; make it shorter.`) };
}

function textOf({ content }: RepositoryFile): string | undefined {
  return "bytes" in content ? decodeText(content.bytes) : undefined;
}

/** An eval file and its agent have this in common. No part of a path contains a slash. */
function placeOf({ framework, name }: PlacedFile): string {
  return `${framework}/${name}`;
}
