import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type DerivedAgent, deriveAgents } from "./derive-agents.ts";
import { describeFsError, type FoundFile, findFiles, linkRefused, readBounded } from "./disk-files.ts";
import { parseSpec, type SpecSchemas } from "./parse-spec.ts";
import { classifyPath } from "./spec-path.ts";

/** An agent whose files lie on disk; `specPath` and `evalPath` are as a reader finds them from where he is. */
export interface AgentOnDisk {
  agent: DerivedAgent;
  specPath: string;
  evalPath: string | undefined;
}

/**
 * The agents below a path: the root of a repository, its agents folder, a framework's folder, or one spec or
 * eval file, which stands for its agent. Follows no symbolic links. Never throws: `problem` says in a sentence
 * why there are none.
 */
export async function findAgentsOnDisk(
  path: string,
  schemas: SpecSchemas,
): Promise<{ agents: AgentOnDisk[]; problem?: string }> {
  try {
    const isFolder = (await lstat(path)).isDirectory();
    const found = isFolder ? await findFiles(path) : await filesBeside(path, schemas);
    const agents = found && (await deriveFrom(found, schemas));
    if (agents && agents.length > 0) return { agents };
    const problem = isFolder
      ? "There are no agents in this folder; give the root of a repository, or its agents folder."
      : "This file belongs to no agent; give a spec or an eval file.";
    return { agents: [], problem };
  } catch (error) {
    return { agents: [], problem: describeFsError(error) };
  }
}

async function deriveFrom(found: readonly FoundFile[], schemas: SpecSchemas): Promise<AgentOnDisk[]> {
  const relevant = found.filter(({ place }) => classifyPath(place).kind !== "ignored");
  const pathOf = new Map(relevant.map(({ place, path }) => [place, path]));
  const files = await Promise.all(
    relevant.map(async ({ path, place, isLink }) => ({
      path: place,
      blobSha: "",
      content: isLink ? { problem: linkRefused } : await readBounded(path),
    })),
  );
  return deriveAgents(files, schemas).agents.map((agent) => ({
    agent,
    specPath: pathOf.get(agent.path) ?? agent.path,
    evalPath: agent.evalPath === undefined ? undefined : pathOf.get(agent.evalPath),
  }));
}

/** The files in the same folder that are of the same agent. */
async function filesBeside(path: string, schemas: SpecSchemas): Promise<FoundFile[]> {
  const folder = dirname(resolve(path));
  const wanted = classifyPath(`agents/-/${basename(path)}`);
  if (wanted.kind === "ignored") return [];
  const entries = (await readdir(folder, { withFileTypes: true })).filter((entry) => {
    const place = classifyPath(`agents/-/${entry.name}`);
    return !entry.isDirectory() && place.kind !== "ignored" && place.name === wanted.name;
  });
  const files = entries.map((entry) => ({
    path: join(dirname(path), entry.name),
    place: entry.name,
    isLink: entry.isSymbolicLink(),
  }));
  const framework = await frameworkOf(folder, files, schemas);
  return files.map((file) => ({ ...file, place: `agents/${framework}/${file.place}` }));
}

/** The folder's name inside a repository; elsewhere what the spec says of itself. */
async function frameworkOf(folder: string, files: readonly FoundFile[], schemas: SpecSchemas) {
  if (basename(dirname(folder)) === "agents") return basename(folder);
  for (const { path, place } of files) {
    const placed = classifyPath(`agents/-/${place}`);
    const content = placed.kind === "spec" ? await readBounded(path) : undefined;
    if (placed.kind !== "spec" || !content || !("bytes" in content)) continue;
    const { spec, ...stated } = parseSpec({ content: content.bytes, format: placed.format }, schemas);
    return spec?.framework ?? ("framework" in stated ? stated.framework || "-" : "-");
  }
  return "-";
}
