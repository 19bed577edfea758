import { lstat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { type DerivedAgents, deriveAgents } from "./derive-agents.ts";
import {
  type Content,
  describeFsError,
  type FoundFile,
  findFiles,
  linkRefused,
  readBounded,
} from "./disk-files.ts";
import { parseEvalFile } from "./eval-file.ts";
import { type HandoffTarget, handoffWarnings } from "./handoffs.ts";
import { decodeText, maxDocumentBytes } from "./parse-document.ts";
import { parseSpec, type SpecSchemas } from "./parse-spec.ts";
import { type Problem, wholeFile } from "./problem.ts";
import { classifyPath } from "./spec-path.ts";

export interface ValidatedFile {
  /** As a reader of the report finds it: the given path, continued to the file. */
  path: string;
  kind: "spec" | "sidecar" | "other";
  problems: Problem[];
  warnings: Problem[];
  /** The content, when it was read. */
  text: string | undefined;
}

export interface ValidationResult {
  files: ValidatedFile[];
  /** Over all files; warnings do not count. */
  problemCount: number;
}

const strayFile =
  "This file is not read; agents are files named agents/<framework>/<name>.yaml, .yml or .json.";

/**
 * Checks spec and eval files on disk as the catalog would, without a server. A path is the root of a
 * repository, its agents folder, a framework's folder in it, or one file. Reads no more than 128 KiB a file and
 * follows no symbolic links. Never fails: what cannot be read is a problem too.
 */
export async function validatePaths(
  paths: readonly string[],
  schemas: SpecSchemas,
): Promise<ValidationResult> {
  const files = new Map<string, ValidatedFile>();
  for (const path of paths) {
    for (const file of await validatePath(path, schemas)) {
      // A path given twice, or a folder and a file in it, is told once.
      if (!files.has(resolve(file.path))) files.set(resolve(file.path), file);
    }
  }
  const all = [...files.values()];
  return { files: all, problemCount: all.reduce((count, { problems }) => count + problems.length, 0) };
}

async function validatePath(path: string, schemas: SpecSchemas): Promise<ValidatedFile[]> {
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) return await validateFolder(path, schemas);
    return [await validateFile(path, schemas)];
  } catch (error) {
    return [other(path, describeFsError(error))];
  }
}

async function validateFolder(path: string, schemas: SpecSchemas): Promise<ValidatedFile[]> {
  const found = await findFiles(path);
  if (found === undefined)
    return [
      other(path, "There is no agents folder here; give the root of a repository, or its agents folder."),
    ];
  const contents = new Map<string, { file: FoundFile; content: Content }>();
  const strays: ValidatedFile[] = [];
  for (const file of found) {
    if (classifyPath(file.place).kind !== "ignored")
      contents.set(file.place, {
        file,
        content: file.isLink ? { problem: linkRefused } : await readBounded(file.path),
      });
    else if (/^[^.].*\.(?:ya?ml|json)$/i.test(basename(file.path))) {
      const warnings = [wholeFile(strayFile)];
      strays.push({ path: file.path, kind: "other", problems: [], warnings, text: undefined });
    }
  }
  if (contents.size === 0) return [other(path, "There are no agent files in this folder."), ...strays];
  const files = [...contents].map(([place, { content }]) => ({ path: place, blobSha: "", content }));
  const derived = deriveAgents(files, schemas);
  const known = knownTargets(derived);
  const validated = [...contents].map(([place, { file, content }]) =>
    report(file.path, place, content, derived, known),
  );
  return [...validated, ...strays];
}

/** Every agent of the folder, so that it does not matter which of two files was there first. */
const knownTargets = ({ agents }: DerivedAgents): Map<string, HandoffTarget> =>
  new Map(agents.map(({ name, framework, spec }) => [name, { framework, valid: spec !== undefined }]));

function report(
  path: string,
  place: string,
  content: Content,
  derived: DerivedAgents,
  known: ReadonlyMap<string, HandoffTarget>,
): ValidatedFile {
  const text = "bytes" in content ? decodeText(content.bytes) : undefined;
  const agent = derived.agents.find((candidate) => candidate.path === place);
  if (agent) {
    const warnings = handoffWarnings(agent.framework, agent.handoffs, known);
    return { path, kind: "spec", problems: agent.problems, warnings, text };
  }
  const owner = derived.agents.find(({ evalPath }) => evalPath === place);
  const orphan = derived.catalogProblems.filter((problem) => problem.path === place);
  const problems = owner?.evalProblems ?? orphan.map(({ message }) => wholeFile(message));
  return { path, kind: "sidecar", problems, warnings: [], text };
}

async function validateFile(path: string, schemas: SpecSchemas): Promise<ValidatedFile> {
  const absolute = resolve(path);
  const folder = dirname(absolute);
  const isPlaced = basename(dirname(folder)) === "agents";
  const place = classifyPath(`agents/${isPlaced ? basename(folder) : "-"}/${basename(absolute)}`);
  if (place.kind === "ignored")
    return other(path, "This is no agent file; name it <name>.yaml, .yml or .json.");
  const content = await readBounded(path);
  if (!("bytes" in content)) {
    const message =
      "problem" in content
        ? content.problem
        : `The file is over ${maxDocumentBytes / 1024} KiB; make it shorter.`;
    return { ...other(path, message), kind: place.kind };
  }
  const { format, name, framework } = place;
  const spec = { content: content.bytes, format, ...(isPlaced ? { name, framework } : {}) };
  const { problems } =
    place.kind === "spec" ? parseSpec(spec, schemas) : parseEvalFile(content.bytes, format);
  return { path, kind: place.kind, problems, warnings: [], text: decodeText(content.bytes) };
}

function other(path: string, message: string): ValidatedFile {
  return { path, kind: "other", problems: [wholeFile(message)], warnings: [], text: undefined };
}
