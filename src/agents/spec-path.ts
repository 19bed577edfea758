import type { DocumentFormat } from "./parse-document.ts";

/**
 * What a path of the repository is to the catalog. A `spec` may still have a name that no agent may have
 * (`Foo Bar`): the author shall see it as an invalid agent. `name` and `framework` are safe to store and
 * show: at most 180 bytes each, without control characters.
 */
export type SpecPath =
  | { kind: "spec"; framework: string; name: string; format: DocumentFormat }
  | { kind: "sidecar"; framework: string; name: string; format: DocumentFormat }
  | { kind: "ignored" };

const longestPath = 255;
const longestPart = 180;
const ignored: SpecPath = { kind: "ignored" };

/**
 * Classifies a path by its text alone. Specs are `agents/<framework>/<name>.yaml|.yml|.json`, sidecars
 * `agents/<framework>/<name>.eval.yaml|.eval.yml|.eval.json`, both with the ending in lower case. All else is
 * ignored: other depths, other endings, names beginning with a dot, and paths that cannot be shown or stored
 * faithfully (control characters, backslashes, lone surrogates, `..`, empty parts, over 255 bytes). The last
 * are ignored instead of renamed, because two files could end up under one made-up name.
 */
export function classifyPath(path: string): SpecPath {
  if (!isPlainPath(path)) return ignored;
  const [root, framework, file, ...deeper] = path.split("/");
  if (root !== "agents" || !framework || !file || deeper.length > 0) return ignored;
  const match = /^(?<name>.+?)(?<evals>\.eval)?\.(?<ending>yaml|yml|json)$/.exec(file);
  const { name, evals, ending } = match?.groups ?? {};
  if (!name || !isPlainPart(framework) || !isPlainPart(name)) return ignored;
  const format = ending === "json" ? "json" : "yaml";
  return { kind: evals ? "sidecar" : "spec", framework, name, format };
}

/**
 * Files with one key can change each other's meaning and have to be derived together: all files of one name
 * in any framework, names that differ only in case or Unicode form, and sidecars. Undefined for ignored paths.
 * At most 191 characters.
 */
export function groupKey(path: string): string | undefined {
  const place = classifyPath(path);
  return place.kind === "ignored" ? undefined : foldName(place.name);
}

/** Names that some file systems cannot keep apart become equal. */
export function foldName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase().slice(0, 191);
}

function isPlainPath(path: string): boolean {
  if (path.length > longestPath || Buffer.byteLength(path) > longestPath || !path.isWellFormed())
    return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return !/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\\]/.test(path);
}

function isPlainPart(part: string): boolean {
  return !part.startsWith(".") && Buffer.byteLength(part) <= longestPart;
}
