import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { formatReport } from "../../../src/agents/format-report.ts";
import { validatePaths } from "../../../src/agents/validate-paths.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "validate-"));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const spec = (name: string, rest = "") =>
  `name: ${name}\nframework: ai-sdk\nmodel: offline/echo\ninstructions: x\n${rest}`;

async function write(path: string, content: string | Uint8Array): Promise<string> {
  const full = join(root, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, content);
  return full;
}

/** What is told of the paths, as "path line:column message" with paths relative to the folder. */
async function tell(...paths: string[]): Promise<string[]> {
  const { files, problemCount } = await validatePaths(paths, frameworkSpecs);
  expect(problemCount).toBe(files.reduce((count, { problems }) => count + problems.length, 0));
  return files.flatMap(({ path, problems, warnings }) =>
    [...problems, ...warnings].map(
      ({ line, column, message }) => `${path.replace(root, ".")} ${line}:${column} ${message}`,
    ),
  );
}

describe("validatePaths", () => {
  test("takes a repository, its agents folder, a framework's folder and a file", async () => {
    const file = await write("agents/ai-sdk/a.yaml", spec("a", "retries: 9\n"));
    const problem = "./agents/ai-sdk/a.yaml 5:10 `retries` has to be at most 5.";
    for (const path of [root, join(root, "agents"), join(root, "agents/ai-sdk"), file])
      expect(await tell(path)).toEqual([problem]);
    expect(await tell(root, file, join(root, "agents/../agents"))).toEqual([problem]);
  });

  test("warns of handoffs that lead nowhere, whichever file comes first", async () => {
    const member = (name: string, handoffs: string) =>
      `name: ${name}\nframework: openai-agents\nmodel: offline/echo\ninstructions: x\nhandoffs: ${handoffs}\n`;
    await write("agents/openai-agents/a.yaml", member("a", "[z, nobody, plain, broken]"));
    await write("agents/openai-agents/z.yaml", member("z", "[a]"));
    await write("agents/openai-agents/broken.yaml", member("broken", "nobody"));
    await write("agents/ai-sdk/plain.yaml", spec("plain"));
    const told = await tell(root);
    expect(told.filter((line) => line.includes("/a.yaml"))).toEqual([
      "./agents/openai-agents/a.yaml 5:15 There is no agent `nobody` in `agents/openai-agents`; add it, or take the handoff out.",
      "./agents/openai-agents/a.yaml 5:23 `plain` is an agent of `ai-sdk`; hand off to agents of `openai-agents` alone.",
      "./agents/openai-agents/a.yaml 5:30 The agent `broken` has problems of its own, and nothing can be handed off to it; correct it first.",
    ]);
    expect(told.filter((line) => line.includes("/z.yaml"))).toEqual([]);
    expect((await validatePaths([root], frameworkSpecs)).problemCount).toBe(1);
  });

  test("sees files in relation to each other", async () => {
    await write("agents/ai-sdk/a.yaml", spec("a"));
    await write("agents/ai-sdk/a.json", "{}");
    await write("agents/ai-sdk/b.eval.yaml", "cases: []\n");
    expect(await tell(root)).toEqual([
      expect.stringContaining("./agents/ai-sdk/a.json 1:1 `agents/ai-sdk/a.yaml` has the same name"),
      ...Array.from({ length: 4 }, () => expect.stringMatching(/a\.json 1:1 `\w+` is required/)),
      expect.stringContaining("./agents/ai-sdk/a.yaml 1:1 `agents/ai-sdk/a.json` has the same name"),
      expect.stringContaining("./agents/ai-sdk/b.eval.yaml 1:1 There is no agent `b`"),
    ]);
  });

  test("a file elsewhere is checked by itself", async () => {
    expect(await tell(await write("draft.yaml", spec("a")))).toEqual([]);
    expect(await tell(await write("draft.eval.json", '{"cases": 1}'))).toEqual([
      "./draft.eval.json 1:11 `cases` has to be a list, not the number 1.",
    ]);
    expect(await tell(await write("notes.txt", "x"))).toEqual([
      expect.stringContaining("./notes.txt 1:1 This is no agent file"),
    ]);
  });

  test("a file in its place has to be named as it says", async () => {
    expect(await tell(await write("agents/ai-sdk/b.yaml", spec("a")))).toEqual([
      "./agents/ai-sdk/b.yaml 1:1 `name` is `a` but the file is called `b`; make them equal.",
    ]);
  });

  test("warns of files that are not read", async () => {
    await write("agents/a.yaml", spec("a"));
    await write("agents/ai-sdk/ok.yaml", spec("ok"));
    await write("agents/ai-sdk/deeper/b.yaml", spec("b"));
    await write("agents/ai-sdk/README.md", "x");
    await write("agents/ai-sdk/c.YAML", spec("c"));
    const { files, problemCount } = await validatePaths([root], frameworkSpecs);
    expect(problemCount).toBe(0);
    expect(
      files
        .filter(({ warnings }) => warnings.length > 0)
        .map(({ path }) => path.replace(`${root}/agents/`, "")),
    ).toEqual(["a.yaml", "ai-sdk/c.YAML", "ai-sdk/deeper/b.yaml"]);
  });

  test("what is not there, not a file or too large is a problem", async () => {
    await write("agents/ai-sdk/large.yaml", new Uint8Array(200_000));
    await mkdir(join(root, "empty"));
    expect(
      await tell(
        join(root, "nowhere"),
        join(root, "empty"),
        "/dev/null",
        join(root, "agents/ai-sdk/large.yaml"),
      ),
    ).toEqual([
      "./nowhere 1:1 There is no such file or folder.",
      expect.stringContaining("./empty 1:1 There is no agents folder here"),
      expect.stringContaining("/dev/null 1:1 This is no agent file"),
      "./agents/ai-sdk/large.yaml 1:1 The file is over 128 KiB; make it shorter.",
    ]);
    await mkdir(join(root, "other/agents/ai-sdk"), { recursive: true });
    expect(await tell(join(root, "other"))).toEqual(["./other 1:1 There are no agent files in this folder."]);
  });

  test("does not follow symbolic links", async () => {
    const outside = await write("secret.txt", "password: 1\n");
    await write("agents/ai-sdk/a.yaml", spec("a"));
    await symlink(outside, join(root, "agents/ai-sdk/link.yaml"));
    await symlink(root, join(root, "agents/loop"));
    const message =
      "./agents/ai-sdk/link.yaml 1:1 This is a symbolic link, which is not followed; put the file itself here.";
    expect(await tell(root)).toEqual([message]);
    expect(await tell(join(root, "agents/ai-sdk/link.yaml"))).toEqual([message]);
  });
});

describe("formatReport", () => {
  test("shows the line with a caret and sums up", async () => {
    await write("agents/ai-sdk/a.yaml", `\ufeff${spec("a", 'retries:\t"many"\r\n')}`);
    await write("agents/ai-sdk/b.yaml", spec("b"));
    const report = formatReport(await validatePaths([root], frameworkSpecs), { colour: false });
    expect(report.replace(root, ".")).toBe(
      [
        "./agents/ai-sdk/a.yaml",
        "  5:10 problem: `retries` has to be a number, not text.",
        '    5 | retries: "many"',
        "      |          ^",
        "",
        "Checked 2 agents and 0 eval files: 1 problem in 1 file.",
        "",
      ].join("\n"),
    );
  });

  test("cuts long lines around the place", async () => {
    await write(
      "agents/ai-sdk/a.json",
      `{"name": "a", "x": "${"y".repeat(5_000)}", "x": 1, "z": "${"y".repeat(5_000)}"}`,
    );
    const report = formatReport(await validatePaths([root], frameworkSpecs), { colour: false });
    const [, head, source = "", caret = ""] = report.split("\n");
    expect(head).toContain("1:5024 problem: The key `x` is there twice");
    expect(source.length).toBeLessThan(120);
    expect(source.slice(caret.indexOf("^"))).toMatch(/^"x": 1/);
  });

  test("sends no control characters of a file to the terminal", async () => {
    await write("agents/ai-sdk/a.yaml", `a: 1 # \u001b[2J\u009b31m\u202e\n"\\e]0;x": 1\n`);
    await write("agents/ai-sdk/\u001b[31m.YAML", "x");
    const report = formatReport(await validatePaths([root], frameworkSpecs), { colour: false });
    expect(report).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(report).toContain("U+001B");
  });

  test("has colours only when asked for", async () => {
    await write("agents/ai-sdk/a.yaml", spec("a"));
    const result = await validatePaths([root], frameworkSpecs);
    expect(formatReport(result, { colour: false })).toBe("Checked 1 agent and 0 eval files: no problems.\n");
    expect(formatReport(result, { colour: true })).toContain("\u001b[32m");
  });
});

test("the example repository is valid but for the file that is broken on purpose", async () => {
  const examples = fileURLToPath(new URL("../../../examples/agents-repository", import.meta.url));
  const { files } = await validatePaths([examples], frameworkSpecs);
  expect(files.filter(({ kind }) => kind === "spec").length).toBe(10);
  expect(files.filter(({ kind }) => kind === "sidecar")).toHaveLength(4);
  expect(files.flatMap(({ warnings }) => warnings)).toEqual([]);
  const broken = files.filter(({ problems }) => problems.length > 0);
  expect(broken.map(({ path }) => path.split("/").at(-1))).toEqual(["broken-on-purpose.yaml"]);
  expect(broken[0]?.problems.map(({ path }) => path)).toEqual(["model", "modle", "parameters.maxSteps"]);
});
