import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { configTable, withConfigTable } from "../../scripts/config-table.ts";

const documents = globSync(["*.md", "docs/**/*.md", "examples/**/*.md", "src/**/*.md"]).sort();
const read = (path: string) => readFileSync(path, "utf8");

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

/** Without code blocks; code spans stay, since commands are written in them. */
const prose = (markdown: string) => markdown.replaceAll(/^```[^\n]*\n[\s\S]*?^```$/gm, "");

/** As GitHub names the headings of a page. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...prose(markdown).matchAll(/^#+ +(.+)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** Relative links of a document that lead nowhere. */
function brokenLinks(path: string, markdown: string): string[] {
  const text = prose(markdown).replaceAll(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const found = file === "" ? path : normalize(join(dirname(path), file));
    if (!existsSync(found)) return true;
    return anchor !== undefined && !anchorsOf(found === path ? markdown : read(found)).has(anchor);
  });
}

/** Commands of npm in a document that package.json does not know. */
function unknownScripts(markdown: string): string[] {
  const named = [...markdown.matchAll(/\bnpm (?:run (?:--\S+ )*([\w:-]+)|(start|test)\b)/g)];
  return named.map(([, run, short]) => run ?? short ?? "").filter((name) => !Object.hasOwn(scripts, name));
}

it("has documents to look at", () => {
  expect(documents).toEqual(expect.arrayContaining(["README.md", "CONTRIBUTING.md", "docs/api.md"]));
});

describe("the README's configuration table", () => {
  it("is what `npm run docs` writes", () => {
    const readme = read("README.md");
    expect(readme).toBe(withConfigTable(readme, configTable()));
  });

  it("has a line for each variable, with its default and its description", () => {
    const table = configTable();
    expect(table).toContain("| `PORT` | `3000` | Port to listen on; 0 takes a free one. |");
    expect(table).toContain("| `OLLAMA_BASE_URL` | | Address of an Ollama server, for `ollama/…` models. |");
  });

  it("is not written where its markers are missing", () => {
    expect(() => withConfigTable("# Rollcall\n", "| |")).toThrow("README.md needs the lines");
  });
});

describe.each(documents)("%s", (path) => {
  it("has no link that leads nowhere", () => {
    expect(brokenLinks(path, read(path))).toEqual([]);
  });

  it("names only npm scripts that there are", () => {
    expect(unknownScripts(read(path))).toEqual([]);
  });
});

it("lists every decision in the index of docs/adr", () => {
  const files = globSync("docs/adr/[0-9]*.md");
  const index = read("docs/adr/README.md");
  expect(files.filter((file) => !index.includes(`(${file.slice("docs/adr/".length)})`))).toEqual([]);
});

describe("the checks can fail", () => {
  it("finds links to missing files and headings", () => {
    const text = "# One `two`\n[a](docs/none.md) [b](#one-two) [c](#three) [d](README.md#tests-of-nothing)\n";
    expect(brokenLinks("README.md", text)).toEqual(["docs/none.md", "#three", "README.md#tests-of-nothing"]);
  });

  it("leaves out addresses and what stands in code", () => {
    expect(brokenLinks("x.md", "[a](https://example.org) `[b](none)`\n```\n[c](none)\n```\n")).toEqual([]);
  });

  it("finds scripts that do not exist", () => {
    expect(unknownScripts("`npm run nothing`, `npm ci`, `npm test -- x`, npm start")).toEqual(["nothing"]);
  });
});
