import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The files of one agent, relative to the working directory. A name that two files share has several paths. */
export interface AgentFiles {
  name: string;
  specPaths: readonly string[];
  evalPaths: readonly string[];
}

/**
 * Lists the agents below `agents/<framework>/` by their names. Symbolic links are left out: a pull request could
 * have them point at the runner's own files, whose text would then be sent. Throws without a folder `agents`.
 */
export async function listAgents(directory: string): Promise<AgentFiles[]> {
  const root = join(directory, "agents");
  const found = await lstat(root).catch(() => undefined);
  if (!found?.isDirectory())
    throw new Error("There is no folder `agents`; check out first, or set the input working-directory.");
  const paths: string[] = [];
  for (const framework of await readdir(root, { withFileTypes: true })) {
    if (!framework.isDirectory()) continue;
    const files = await readdir(join(root, framework.name), { withFileTypes: true });
    for (const file of files) if (file.isFile()) paths.push(`agents/${framework.name}/${file.name}`);
  }
  return groupAgents(paths);
}

/** Groups paths by agent as the service does: only plain paths with the known endings count. */
export function groupAgents(paths: readonly string[]): AgentFiles[] {
  const places = paths.flatMap((path) => classify(path) ?? []).sort((a, b) => (a.path < b.path ? -1 : 1));
  return [...Map.groupBy(places, ({ name }) => name)].flatMap(([name, files]) => {
    const specPaths = files.filter(({ isEval }) => !isEval).map(({ path }) => path);
    const evalPaths = files.filter(({ isEval }) => isEval).map(({ path }) => path);
    return specPaths.length === 0 ? [] : [{ name, specPaths, evalPaths }];
  });
}

/** The text of a file of the checkout. */
export const readText = (directory: string, path: string) => readFile(join(directory, path), "utf8");

function classify(path: string): { name: string; isEval: boolean; path: string } | undefined {
  if (/[\p{Cc}\u2028-\u202e\u2066-\u2069\\]/u.test(path)) return undefined;
  const match = /^agents\/[^./][^/]*\/(?<name>[^./][^/]*?)(?<evals>\.eval)?\.(?:yaml|yml|json)$/.exec(path);
  const { name, evals } = match?.groups ?? {};
  return name === undefined ? undefined : { name, isEval: evals !== undefined, path };
}
