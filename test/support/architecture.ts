import { posix } from "node:path";

/** A file of the project; `path` is relative to the project and has forward slashes. */
export interface SourceFile {
  path: string;
  text: string;
}

/** Low to high. A feature may use those of lower lines, never its neighbours. */
const layers = [
  ["platform"],
  ["access", "workspaces", "settings"],
  ["repositories"],
  ["models"],
  ["frameworks", "integrations"],
  ["agents", "connections", "commit-status", "dispatches", "deliveries"],
  ["runs"],
  ["evals", "automations", "triggers", "webhooks", "chat-apps", "agent-changes"],
  ["pull-requests"],
  ["github", "promotion", "console", "mcp"],
];

/** What puts the features together may import all of them. */
const compositionRoot = /^src\/(main\.ts|app\.ts|foundation\.ts|cli\/|composition\/)/;
const maxLines = 400;
const maxReadmeLines = 25;
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/;

/** Packages with one home. */
const importRules = [
  {
    modules: /^(agenda|@agendajs\/.+|mongodb)$/,
    home: /^src\/platform\/scheduler\//,
    says: "only platform/scheduler imports",
  },
  {
    modules: /^(probot|@octokit)(\/|$)/,
    home: /^src\/(github|repositories\/github)\//,
    says: "only github and repositories/github import",
  },
  {
    modules: /^(node:sqlite|mysql2|knex)(\/|$)/,
    home: /^src\/platform\/db\//,
    says: "only platform/db imports",
  },
];

/** Texts with one home; each finding is reported where it begins. */
const textRules = [
  {
    pattern: /\bprocess(\.|\[["'])env\b|\benv\b[^;]*from "node:process"/g,
    home: /^src\/platform\/config\.ts$/,
    says: "only platform/config.ts reads the environment",
  },
  {
    pattern: /["'`](mysql2?|mariadb|(better-)?sqlite3?)["'`]|\bclient\.config\b/g,
    home: /^src\/platform\/(db\/|config\.ts)/,
    says: "only platform/db knows engines",
  },
  {
    pattern:
      /\b(db|tx|trx|knex|writer|(db|database)\.(read|writer))(<[^>()]+>)?\(\s*["'`]|\.(raw|into|table)\(\s*["'`]|\btable:\s*["'`]|["'`]\s*(select\s[^"'`]*\bfrom|insert\s+into|update\s+\S+\s+set|delete\s+from)\s/gi,
    home: /^src\/platform\/|(\/|-)store\.ts$/,
    says: "only stores name tables",
  },
  {
    pattern: /^\s*export\s+(default\b|\{[^}]*\bas default\b)/gm,
    home: /\.d\.ts$/,
    says: "no default exports",
  },
];

/**
 * Every breach of the project's structure in these files of `src/` and `test/` (Markdown of `src/` included), one
 * sentence each that begins with `file:line`.
 */
export function findViolations(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => /\.tsx?$/.test(path));
  return [
    ...sources.flatMap((file) => [
      ...sizeAndName(file),
      ...(file.path.startsWith("src/") ? contents(file) : []),
    ]),
    ...readmes(files),
  ].sort();
}

function sizeAndName({ path, text }: SourceFile): string[] {
  const found: string[] = [];
  const lines = text.trimEnd().split("\n").length;
  if (lines > maxLines)
    found.push(`${path}:${maxLines + 1} has ${lines} lines; split it, ${maxLines} are the most`);
  if (!path.split("/").every((part) => kebabCase.test(part)))
    found.push(`${path}:1 is not named in kebab-case`);
  return found;
}

function contents(file: SourceFile): string[] {
  // Comments may speak of anything. Blanked line by line, since "/*" also occurs in globs.
  const text = file.text.replace(/^[ \t]*(\/\/|\/?\*).*$/gm, "");
  const at = (index: number) => `${file.path}:${text.slice(0, index).split("\n").length}`;
  const texts = textRules
    .filter((rule) => !rule.home.test(file.path))
    .flatMap((rule) =>
      [...text.matchAll(rule.pattern)].map(
        (match) => `${at(match.index + match[0].search(/\S/))} ${rule.says}`,
      ),
    );
  const imports = [...text.matchAll(/\b(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g)].flatMap((match) => {
    const problem = importProblem(file.path, match[1] ?? "");
    return problem ? `${at(match.index)} ${problem}` : [];
  });
  return [...texts, ...imports];
}

function importProblem(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) {
    const broken = importRules.find(({ modules, home }) => modules.test(specifier) && !home.test(importer));
    return broken && `${broken.says} ${specifier}`;
  }
  if (compositionRoot.test(importer)) return undefined;
  const target = posix.join(posix.dirname(importer), specifier);
  const [from, to] = [featureOf(importer), featureOf(target)];
  if (from === to) return undefined;
  const [low, high] = [layerOf(to), layerOf(from)];
  if (low < 0 || high < 0) return `imports ${target}, and ${low < 0 ? to : from} is in no layer`;
  if (low >= high) return `${from} imports ${to}, which is not below it`;
  const face =
    to === "platform" ? /^src\/platform\/([^/]+|[^/]+\/index)\.ts$/ : new RegExp(`^src/${to}/index\\.ts$`);
  return face.test(target) ? undefined : `imports ${target} past the index.ts of its folder`;
}

function featureOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function layerOf(feature: string): number {
  return layers.findIndex((names) => names.includes(feature));
}

function readmes(files: readonly SourceFile[]): string[] {
  const inFeatures = files.filter(
    ({ path }) => /^src\/[^/]+\/.+\.tsx?$/.test(path) && !path.startsWith("src/cli/"),
  );
  const features = new Set(inFeatures.map(({ path }) => featureOf(path)));
  return [...features].flatMap((feature) => {
    const path = `src/${feature}/README.md`;
    const readme = files.find((file) => file.path === path);
    if (!readme) return `${path}:1 is missing`;
    const lines = readme.text.trimEnd().split("\n").length;
    return lines > maxReadmeLines
      ? `${path}:${maxReadmeLines + 1} has ${lines} lines; ${maxReadmeLines} are the most`
      : [];
  });
}
