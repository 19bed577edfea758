import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { evalsCommand } from "../../../src/cli/evals.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { agentWithEvals, evalText } from "../../support/eval-requests.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import { specText } from "../../support/run-requests.ts";

const model = "openai-compatible/test-model";
const good = agentWithEvals("good", [{ name: "greets", assert: { contains: "hello", regex: "^H" } }]);
const bad = agentWithEvals("bad", [
  { name: "fits", assert: { max_chars: 5 } },
  { name: "<odd> &", assert: { equals: "x", max_chars: 2 } },
]);

function folderOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "rollcall-evals-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

async function run(args: string[], env: Record<string, string> = {}) {
  const printed: string[] = [];
  const progress: string[] = [];
  const code = await evalsCommand(args, readConfig(env), {
    print: (text) => void printed.push(text),
    progress: (line) => void progress.push(line),
    colour: false,
  });
  return { code, text: printed.join("\n"), progress };
}

async function simulated() {
  const simulator = await startModelSimulator();
  onTestFinished(simulator.close);
  return { simulator, env: { OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1` } };
}

describe("rollcall evals run", () => {
  it("evaluates a repository: a table, a sum, progress, and 0 when all passed", async () => {
    const root = folderOf({ ...good, "agents/ai-sdk/bare.json": specText("bare") });
    const { code, text, progress } = await run(["run", root]);
    expect(text).toMatch(/^AGENT +CASE +RESULT +JUDGE +TIME +COST\ngood +greets +passed +\d+ ms +\$0\.0000/);
    expect(text).toMatch(/1 of 1 cases passed\.$/);
    expect([code, progress]).toEqual([0, ["0 of 1 cases", "1 of 1 cases", ""]]);
  });

  it("names what failed and answers 1; also in a JUnit file", async () => {
    const root = folderOf({ ...good, ...bad });
    const junit = join(root, "junit.xml");
    const { code, text, progress } = await run(["run", root, "--junit", junit]);
    expect(code).toBe(1);
    expect(text).toContain('  equals: The output is "Hello", not "x".');
    expect(text).toContain("  max_chars: It took 5 characters; at most 2 are allowed.");
    expect(text).toMatch(/2 of 3 cases passed\.$/);
    expect(progress).toContain("3 of 3 cases, 1 failed");
    const xml = readFileSync(junit, "utf8");
    expect(xml).toContain('<testsuite name="bad"');
    expect(xml).toContain('tests="2" failures="1" errors="0"');
    expect(xml).toMatch(/<testcase name="fits" [^>]*\/>/);
    expect(xml).toContain(
      '<failure message="equals: The output is &quot;Hello&quot;, not &quot;x&quot;.">equals',
    );
    expect(xml).not.toMatch(/<odd>/);
  });

  it.each([
    ["the agents folder", ["agents"], 3],
    ["a framework's folder", ["agents/ai-sdk"], 3],
    ["a spec", ["agents/ai-sdk/bad.json"], 2],
    ["an eval file", ["agents/ai-sdk/good.eval.json"], 1],
    ["a folder and a file in it", ["agents", "agents/ai-sdk/good.json"], 3],
  ])("takes %s", async (_what, paths, cases) => {
    const root = folderOf({ ...good, ...bad });
    const { text } = await run(["run", ...paths.map((path) => join(root, path))]);
    expect(text).toMatch(new RegExp(`of ${cases} cases passed\\.$`));
  });

  it("takes files that lie in no agents folder", async () => {
    const root = folderOf({
      "x/good.json": specText("good"),
      "x/good.eval.yaml": evalText({ assert: { equals: "Hello" } }),
    });
    expect(await run(["run", join(root, "x/good.eval.yaml")])).toMatchObject({ code: 0 });
  });

  it("says what cannot be run, and answers 1", async () => {
    const root = folderOf({
      ...good,
      ...agentWithEvals("far", [{ assert: { equals: "x" } }], { connections: ["GITHUB_STAR"] }),
      "agents/ai-sdk/wrong.json": specText("wrong"),
      "agents/ai-sdk/wrong.eval.yaml": "cases:\n  - name: a\n    input: b\n    assert: {contain: c}\n",
    });
    const { code, text } = await run(["run", root]);
    expect(code).toBe(1);
    expect(text).toContain("not run: The agent needs a server for its tools GITHUB_STAR.");
    expect(text).toMatch(/wrong\.eval\.yaml\n {2}4:14 problem: .*did you mean `contains`/);
    expect(text).toMatch(/1 of 1 cases passed, 2 eval files were not run\.$/);
    for (const path of [join(root, "nowhere"), join(root, "agents/ai-sdk/README.md"), folderOf({})])
      expect(await run(["run", path])).toMatchObject({ code: 1, text: expect.stringContaining("no agent") });
    expect(await run(["run", root, join(root, "nowhere")])).toMatchObject({ code: 1 });
  });

  it.each([[[]], [["run"]], [["walk", "x"]], [["run", "x", "--fast"]], [["run", "x", "--concurrency", "0"]]])(
    "shows its usage for %j and answers 2",
    async (args) => {
      expect(await run(args)).toMatchObject({
        code: 2,
        text: expect.stringContaining("Usage: rollcall evals run"),
      });
    },
  );

  it("calls models, tools and the judge as a server does", async () => {
    const { simulator, env } = await simulated();
    const root = folderOf({
      ...agentWithEvals(
        "reader",
        [{ assert: { contains: "noon", tool_called: "ROLLCALL_READ_FILE" }, judge: { rubric: "short" } }],
        { model, connections: ["ROLLCALL_READ_FILE"] },
      ),
      "docs/time.md": "It is noon.",
    });
    const secret = join(folderOf({ "secret.txt": "outside" }), "secret.txt");
    symlinkSync(secret, join(root, "docs/link.md"));
    simulator.script(
      { toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path: "docs/time.md" } }] },
      { toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path: "docs/link.md" } }] },
      { text: "Noon." },
      { text: "PASS" },
    );
    const { code, text } = await run(["run", root, "--judge-model", "openai-compatible/judge"], env);
    expect([code, text]).toEqual([0, expect.stringMatching(/passed +pass +\d+ ms +unknown/)]);
    expect(JSON.stringify(simulator.requests[1]?.body)).toContain("It is noon.");
    expect(JSON.stringify(simulator.requests[2]?.body)).not.toContain("outside");
    expect(simulator.requests[3]?.body.model).toBe("judge");
  });

  it("a model that fails or is not configured fails its cases", async () => {
    const { simulator, env } = await simulated();
    const root = folderOf(agentWithEvals("thinker", [{ assert: { equals: "x" } }], { model, retries: 0 }));
    simulator.script({ status: 401 });
    const refused = await run(["run", root], env);
    expect([refused.code, refused.text]).toEqual([
      1,
      expect.stringContaining("refused the workspace's cred"),
    ]);
    const unset = await run(["run", root]);
    expect([unset.code, unset.text]).toEqual([1, expect.stringContaining("not configured")]);
  });

  it("lets nothing that a model wrote steer the terminal or break the XML", async () => {
    const { simulator, env } = await simulated();
    const root = folderOf(agentWithEvals("thinker", [{ assert: { equals: "x" } }], { model }));
    const junit = join(root, "junit.xml");
    simulator.script({ text: "a\u009b2J\u202e\ud83d<b>\uffff" });
    const { text } = await run(["run", root, "--junit", junit], env);
    const unwanted = /[\u007f-\u009f\u202a-\u202e\ud800-\udfff]/;
    expect(text).toContain("The output is");
    expect(text).not.toMatch(unwanted);
    expect(readFileSync(junit, "utf8")).not.toMatch(/[\ud800-\udfff\uffff]|<b>/);
  });

  it("runs no more at once than it may", async () => {
    const { simulator, env } = await simulated();
    const root = folderOf(
      agentWithEvals("thinker", [{ repeats: 4, minPass: 2, assert: { equals: "x" } }], { model }),
    );
    const first = Promise.withResolvers<void>();
    simulator.script({ text: "x", until: first.promise }, { text: "x" }, { text: "y" }, { text: "y" });
    const running = run(["run", root, "--concurrency", "1"], env);
    await simulator.request(0);
    await sleep(100);
    expect(simulator.requests).toHaveLength(1);
    first.resolve();
    expect(await running).toMatchObject({ code: 0, text: expect.stringContaining("passed (2 of 4)") });
  });
});
