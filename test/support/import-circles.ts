import { posix } from "node:path";
import type { SourceFile } from "./architecture.ts";

/** Files of `src/` that import each other, also by way of others or for types alone: one sentence for each circle. */
export function findCircles(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => /^src\/.*\.ts$/.test(path));
  const imports = new Map(sources.map((file) => [file.path, importsOf(file)]));
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];

  function visit(path: string): void {
    const from = way.indexOf(path);
    if (from >= 0)
      found.push(`${path}:1 is in a circle of imports: ${[...way.slice(from), path].join(" -> ")}`);
    if (from >= 0 || done.has(path)) return;
    way.push(path);
    for (const target of imports.get(path) ?? []) visit(target);
    way.pop();
    done.add(path);
  }

  for (const { path } of sources) visit(path);
  return found;
}

function importsOf({ path, text }: SourceFile): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*["'](\.[^"'\n]+)["']/g)];
  return specifiers.map(([, specifier = ""]) => posix.join(posix.dirname(path), specifier));
}
