import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import { agentWithEvals } from "../support/eval-requests.ts";
import { specText } from "../support/run-requests.ts";
import { actionFolder, createCheckout, hasActionPackages, runBundle, runLocally } from "./run-action.ts";

const passing = agentWithEvals("passing", [{ assert: { contains: "hello" } }]);
const hostile = "::warning::owned\n::stop-commands::x\n<img src=x> | cell";
const failing = agentWithEvals("failing", [
  { assert: { contains: "hello" } },
  { name: "wants | more", input: hostile, assert: { equals: "other" } },
]);
const broken = {
  "agents/ai-sdk/broken.json":
    '{\n  "name": "broken",\n  "framework": "ai-sdk",\n  "modle": "offline/echo"\n}\n',
  "agents/ai-sdk/broken.eval.json": passing["agents/ai-sdk/passing.eval.json"] ?? "",
};

const eventOf = (base: string, head: string) => ({
  pull_request: { base: { sha: base }, head: { sha: head } },
});

describe("the bundled action", () => {
  it("evaluates what a pull request changed, for its head, and passes", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    const base = await checkout.commit({ ...failing, "agents/ai-sdk/bare.json": specText("bare") });
    const head = await checkout.commit({
      ...passing,
      "agents/ai-sdk/bare.json": specText("bare", { description: "Changed." }),
    });
    await checkout.commit({ "README.md": "The merge that runners check out." });
    const inputs = { "base-url": `${app.url}/`, "api-key": app.key };
    const done = await runBundle({ inputs, workspace: checkout.directory, event: eventOf(base, head) });
    expect(done).toMatchObject({ code: 0, commands: [`::add-mask::${app.key}`] });
    expect(done.outputs.passed).toBe("true");
    expect(done.outputs["failed-agents"]).toBe("[]");
    const suites = JSON.parse(done.outputs.suites ?? "");
    expect(suites).toEqual([
      { agent: "passing", eval_id: expect.any(String), status: "passed", passedCount: 1, totalCount: 1 },
    ]);
    const { json } = await app.request("GET", `/evals/${suites[0].eval_id}`);
    expect(json.eval).toMatchObject({ commitSha: head, source: "ci", agent: "passing" });
    expect(done.summary).toContain("| bare | skipped&#58; it has no eval file |");
    expect(done.text.replace(`::add-mask::${app.key}`, "")).not.toContain(app.key);
  });

  it("evaluates what a push changed in a folder, and never reads through a link", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    const below = (files: Record<string, string>) =>
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`team/${path}`, text]));
    const before = await checkout.commit(below(passing));
    await mkdir(join(checkout.directory, "team/agents/ai-sdk"), { recursive: true });
    await symlink("/etc/hostname", join(checkout.directory, "team/agents/ai-sdk/linked.yaml"));
    const after = await checkout.commit(below(failing));
    const inputs = { "base-url": app.url, "api-key": app.key, "working-directory": "team" };
    const done = await runBundle({ inputs, workspace: checkout.directory, event: { before, after } });
    expect(JSON.parse(done.outputs["failed-agents"] ?? "")).toEqual(["failing"]);
    expect(done.text).toContain("1 of 2 agents are chosen.");
    expect(done.text).toContain("file=team/agents/ai-sdk/failing.eval.json");
  });

  it("shows failed cases and problems at their lines, whatever they say", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    await checkout.commit({ ...passing, ...failing, ...broken });
    const inputs = { "base-url": app.url, "api-key": app.key, agents: "all" };
    const done = await runBundle({ inputs, workspace: checkout.directory });
    expect(done.code).toBe(1);
    expect(JSON.parse(done.outputs["failed-agents"] ?? "")).toEqual(["broken", "failing"]);
    expect(done.outputs.passed).toBe("false");
    const lines = (failing["agents/ai-sdk/failing.eval.json"] ?? "").split("\n");
    const at = lines.findIndex((line) => line.includes("wants | more"));
    const errors = done.commands.filter((line) => line.startsWith("::error"));
    expect(errors).toHaveLength(done.commands.length - 1);
    const failed = errors.find((line) => line.includes("wants"));
    expect(failed).toContain("file=agents/ai-sdk/failing.eval.json");
    expect([at, at + 1]).toContain(Number(/,line=(\d+)/.exec(failed ?? "")?.[1]));
    const problem = errors.find((line) => line.includes("modle"));
    expect(problem).toContain("file=agents/ai-sdk/broken.json,line=4,col=3");
    expect(done.summary).not.toContain("<img");
    const rows = done.summary.split("\n").filter((line) => line.includes("wants"));
    expect(rows).toHaveLength(1);
    expect(rows[0]?.split("|")).toHaveLength(5);
  });

  it("leaves the step green for failed cases when told to, but not for errors", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    await checkout.commit({ ...failing, ...broken });
    const codeOf = async (inputs: Record<string, string>) => {
      const all = { "base-url": app.url, "api-key": app.key, ...inputs };
      return (await runBundle({ inputs: all, workspace: checkout.directory })).code;
    };
    expect(await codeOf({ agents: "failing", "fail-on": "error" })).toBe(0);
    expect(await codeOf({ agents: "broken", "fail-on": "error" })).toBe(1);
    expect(await codeOf({ agents: "failing,broken", "fail-on": "never" })).toBe(0);
  });

  it("stops at a wrong key, an unknown agent and a history that is too short", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    await checkout.commit(passing);
    const refused = async (inputs: Record<string, string>, event?: unknown) => {
      const all = { "base-url": app.url, "api-key": app.key, "fail-on": "never", ...inputs };
      const done = await runBundle({ inputs: all, workspace: checkout.directory, event });
      expect(done.code).toBe(1);
      return done.commands.at(-1);
    };
    expect(await refused({ agents: "all", "api-key": "wrong" })).toMatch(
      /^::error::The service answered 401/,
    );
    expect(await refused({ agents: "nobody" })).toContain("no agent nobody");
    const unknown = eventOf("a".repeat(40), "b".repeat(40));
    expect(await refused({}, unknown)).toContain("set fetch-depth: 0");
    expect(await refused({})).toContain("names no commit to compare with");
  });

  it("gives up when the time is over: a suite goes on, the service asks for patience, or is not there", async () => {
    const app = await startApp({ env: { ROLLCALL_ROLES: "web" } });
    const limited = await startApp({ env: { ROLLCALL_API_RATE_LIMIT: "1" } });
    await limited.request("GET", "/me");
    const checkout = await createCheckout();
    await checkout.commit(passing);
    const runFor = (inputs: Record<string, string>) =>
      runBundle({ inputs: { agents: "all", timeout: "2", ...inputs }, workspace: checkout.directory });
    const [slow, patient, away, queued] = await Promise.all([
      runFor({ "base-url": app.url, "api-key": app.key }),
      runFor({ "base-url": limited.url, "api-key": limited.key, timeout: "1" }),
      runFor({ "base-url": "http://127.0.0.1:9", "api-key": "x" }),
      runFor({ "base-url": app.url, "api-key": app.key, wait: "false" }),
    ]);
    expect([slow.code, patient.code, away.code, queued.code], queued.text).toEqual([1, 1, 1, 0]);
    expect(JSON.parse(slow.outputs.suites ?? "")).toMatchObject([{ status: "timed_out", totalCount: 1 }]);
    expect(slow.text).toContain("raise the input timeout");
    expect(patient.text).toContain("The service answered 429");
    expect(away.text).toContain("The service cannot be reached");
    expect(JSON.parse(queued.outputs.suites ?? "")).toMatchObject([{ status: "queued" }]);
  });
});

if (!hasActionPackages())
  console.warn(
    "Skipped: the action with GitHub's local runner and its bundle; run `npm ci` in action/ first.",
  );

describe.skipIf(!hasActionPackages())("the action's source", () => {
  it("is what the bundle was made from", () => {
    const made = execFileSync("npm", ["run", "--silent", "bundle"], {
      cwd: actionFolder,
      encoding: "utf8",
      maxBuffer: 16 * 1024 * 1024,
      stdio: ["ignore", "pipe", "ignore"],
    });
    // Not compared with toBe, which would print a megabyte.
    const isCurrent = made === readFileSync(join(actionFolder, "dist/index.js"), "utf8");
    expect(isCurrent, "run `npm run build` in action/ and commit its dist").toBe(true);
  });

  it("runs in GitHub's local runner", async () => {
    const app = await startApp();
    const checkout = await createCheckout();
    await checkout.commit({ ...passing, ...failing });
    const inputs = { "base-url": app.url, "api-key": app.key, agents: "passing" };
    const green = await runLocally({ inputs, workspace: checkout.directory });
    expect(green.code, green.text).toBe(0);
    expect(green.summary, green.text).toContain("| passing | passed | 1 of 1 |");
    const suites = (await app.request("GET", "/evals?agent=passing")).json.evals;
    expect(suites).toMatchObject([{ status: "passed", source: "ci" }]);
  });
});
