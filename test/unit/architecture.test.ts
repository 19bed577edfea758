import { globSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { describe, expect, test } from "vitest";
import { findViolations, type SourceFile } from "../support/architecture.ts";
import { findCircles } from "../support/import-circles.ts";

function readProject(): SourceFile[] {
  const paths = globSync(["src/**/*.{ts,tsx,md}", "test/**/*.{ts,tsx}"], { exclude: ["test/fixtures/**"] });
  return paths.map((path) => ({ path: path.split(sep).join("/"), text: readFileSync(path, "utf8") }));
}

test("the project keeps to its structure", () => {
  const files = readProject();
  expect(files.length).toBeGreaterThan(50);
  expect(findViolations(files)).toEqual([]);
  expect(findCircles(files)).toEqual([]);
});

/** Breaches of one file whose folder has a README. */
function breaches(path: string, text: string): string[] {
  const readme = { path: `src/${path.split("/")[1]}/README.md`, text: "What it is.\n" };
  return findViolations([{ path, text }, readme]);
}

describe("each rule can fail", () => {
  test.each([
    [
      "src/runs/service.ts",
      'import { x } from "../evals/index.ts";',
      "runs imports evals, which is not below it",
    ],
    [
      "src/agents/service.ts",
      'import { x } from "../connections/index.ts";',
      "agents imports connections, which is not below it",
    ],
    [
      "src/platform/http/x.ts",
      'import { x } from "../../access/index.ts";',
      "platform imports access, which is not below it",
    ],
    [
      "src/runs/service.ts",
      'import { x } from "../agents/store.ts";',
      "imports src/agents/store.ts past the index.ts of its folder",
    ],
    [
      "src/runs/service.ts",
      'import { x } from "../platform/db/database.ts";',
      "imports src/platform/db/database.ts past the index.ts of its folder",
    ],
    [
      "src/runs/service.ts",
      'const x = await import("../evals/index.ts");',
      "runs imports evals, which is not below it",
    ],
    [
      "src/extras/x.ts",
      'import { x } from "../runs/index.ts";',
      "imports src/runs/index.ts, and extras is in no layer",
    ],
    ["src/runs/service.ts", 'import { Agenda } from "agenda";', "only platform/scheduler imports agenda"],
    [
      "src/platform/jobs/x.ts",
      'import type { Db } from "mongodb";',
      "only platform/scheduler imports mongodb",
    ],
    [
      "src/agents/x.ts",
      'import { Octokit } from "@octokit/core";',
      "only github and repositories/github import @octokit/core",
    ],
    ["src/app.ts", 'import { Probot } from "probot";', "only github and repositories/github import probot"],
    ["src/runs/store.ts", 'import type { Knex } from "knex";', "only platform/db imports knex"],
    ["src/runs/store.ts", 'if (db.engine === "mysql") {}', "only platform/db knows engines"],
    ["src/platform/jobs/x.ts", "knex.client.config.client", "only platform/db knows engines"],
    ["src/main.ts", "const port = process.env.PORT;", "only platform/config.ts reads the environment"],
    ["src/main.ts", 'import { env } from "node:process";', "only platform/config.ts reads the environment"],
    ["src/runs/service.ts", 'await tx<Row>("runs").where({ id });', "only stores name tables"],
    ["src/runs/service.ts", 'await db.read("runs");', "only stores name tables"],
    ["src/runs/service.ts", "await tx.raw(`SELECT id FROM runs`);", "only stores name tables"],
    ["src/runs/service.ts", 'const rows = [{ table: "runs", row }];', "only stores name tables"],
    ["src/runs/x.ts", "export default 1;", "no default exports"],
    ["src/runs/x.ts", "export { x as default };", "no default exports"],
    ["src/runs/runStore.ts", "", "is not named in kebab-case"],
    ["test/unit/Runs/x.test.ts", "", "is not named in kebab-case"],
  ])("%s: %s", (path, line, problem) => {
    const at = problem.includes("kebab") ? 1 : 3;
    expect(new Set(breaches(path, `\n\n${line}\n`))).toEqual(new Set([`${path}:${at} ${problem}`]));
  });

  test("files that are too long, READMEs that are missing or too long", () => {
    const long = (lines: number) => "x\n".repeat(lines);
    expect(findViolations([{ path: "test/unit/a.test.ts", text: long(400) }])).toEqual([]);
    expect(findViolations([{ path: "test/unit/a.test.ts", text: long(401) }])).toHaveLength(1);
    const source = { path: "src/runs/index.ts", text: "" };
    expect(findViolations([source])).toEqual(["src/runs/README.md:1 is missing"]);
    expect(findViolations([source, { path: "src/runs/README.md", text: long(25) }])).toEqual([]);
    expect(findViolations([source, { path: "src/runs/README.md", text: long(26) }])).toHaveLength(1);
  });

  test("files that import each other", () => {
    const files = [
      { path: "src/runs/a.ts", text: 'import type { B } from "./b.ts";' },
      { path: "src/runs/b.ts", text: 'const c = await import("./deep/c.ts");' },
      { path: "src/runs/deep/c.ts", text: 'export { a } from "../a.ts";' },
      { path: "src/runs/d.ts", text: 'import { a } from "./a.ts";' },
    ];
    const circle = "src/runs/a.ts -> src/runs/b.ts -> src/runs/deep/c.ts -> src/runs/a.ts";
    expect(findCircles(files)).toEqual([`src/runs/a.ts:1 is in a circle of imports: ${circle}`]);
    expect(findCircles(files.slice(1))).toEqual([]);
  });

  test.each([
    [
      "src/runs/service.ts",
      'import { x } from "../agents/index.ts";\nimport { e } from "../platform/errors.ts";',
    ],
    ["src/runs/service.ts", 'import { db } from "../platform/db/index.ts";\nimport { y } from "./store.ts";'],
    [
      "src/frameworks/ai-sdk/run.ts",
      'import { x } from "../../models/index.ts";\nimport { y } from "../types.ts";',
    ],
    ["src/app.ts", 'import { x } from "./runs/store.ts";'],
    ["src/cli/keys.ts", 'import { x } from "../access/service.ts";'],
    ["src/runs/store.ts", 'await tx("runs").insert(row);\n// as in process.env or "mysql"'],
    ["src/platform/db/x.ts", 'import knex from "knex";\nconst engine = "sqlite";'],
    ["src/repositories/github/x.ts", 'import { Octokit } from "@octokit/core";'],
    ["src/runs/x.ts", 'const bytes = Buffer.from("a"); app.use(express.raw({})); const g = "a/**/*.ts";'],
  ])("%s may contain %s", (path, text) => {
    expect(breaches(path, text)).toEqual([]);
  });
});
