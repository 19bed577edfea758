import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startScript } from "../../support/child-process.ts";

const vitest = resolve("node_modules/vitest/vitest.mjs");
const reporter = resolve("test/support/summary-reporter.ts");

/** Runs Vitest in a project that consists of these files; returns the last line of its output and its exit code. */
async function runProject(files: Readonly<Record<string, string>>, config = "") {
  const directory = mkdtempSync(join(tmpdir(), "rollcall-project-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const source = `import { createSummaryReporter } from ${JSON.stringify(reporter)};
    export default { test: { globals: true, reporters: ["default", createSummaryReporter()], ${config} } };`;
  for (const [name, text] of Object.entries({ ...files, "vitest.config.ts": source })) {
    writeFileSync(join(directory, name), text);
  }
  const script = startScript(vitest, { args: ["run"], cwd: directory });
  const { code } = await script.exit;
  return { last: script.lines.at(-1), code };
}

const passing = 'test("a", () => {}); test("b", () => {});';

test("counts tests that passed, and mentions those that were skipped", async () => {
  expect(await runProject({ "a.test.ts": passing })).toEqual({ last: "2 passed, 0 failed", code: 0 });
  const skipped = `${passing} test.skip("c", () => {}); test.todo("d");`;
  expect(await runProject({ "a.test.ts": skipped })).toEqual({
    last: "2 passed, 0 failed, 2 skipped",
    code: 0,
  });
});

test("counts tests, files, hooks and unhandled errors that failed", async () => {
  const files = {
    "a.test.ts": `${passing} test("c", () => expect(1).toBe(2));`,
    "b.test.ts": 'import "./nowhere.ts";',
    "c.test.ts": 'beforeAll(() => { throw new Error("no"); }); test("d", () => {});',
    "d.test.ts": 'test("e", () => void Promise.reject(new Error("late")));',
  };
  expect(await runProject(files)).toEqual({ last: "3 passed, 4 failed, 1 skipped", code: 1 });
});

test("a global setup that fails is a failure, and so is a run without tests", async () => {
  const files = {
    "a.test.ts": passing,
    "setup.ts": 'export const setup = () => { throw new Error("no server"); };',
  };
  const broken = await runProject(files, 'globalSetup: ["setup.ts"]');
  expect(broken).toEqual({ last: "0 passed, 1 failed", code: 1 });
  expect(await runProject({})).toEqual({ last: "0 passed, 1 failed", code: 1 });
});
