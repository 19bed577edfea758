import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startScript } from "../../support/child-process.ts";

function scriptFile(source: string): string {
  const directory = mkdtempSync(join(tmpdir(), "rollcall-script-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "script.ts");
  writeFileSync(file, source);
  return file;
}

test("runs TypeScript, finds lines that were written before, and tells how it ended", async () => {
  const source = `const port: number = 7; console.log("first"); console.log("port " + port, process.env.SAID, process.argv[2]);
    process.on("SIGTERM", () => process.exit(3)); setInterval(() => {}, 1000); console.log("ready");`;
  const script = startScript(scriptFile(source), { env: { SAID: "yes" }, args: ["there"] });
  await script.waitForLine(/^ready/);
  expect(await script.waitForLine(/^port/)).toBe("port 7 yes there");
  expect(await script.kill("SIGTERM")).toEqual({ code: 3, signal: null });
});

test("a script that ends without the line fails the wait with what it wrote", async () => {
  const script = startScript(
    scriptFile(`console.log("alpha"); console.error("omega"); process.exitCode = 2;`),
  );
  await expect(script.waitForLine(/never/)).rejects.toThrow(/ended.*never.*alpha.*omega/s);
  expect(await script.exit).toEqual({ code: 2, signal: null });
});

test("SIGKILL ends a script that ignores everything else", async () => {
  const script = startScript(
    scriptFile(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up");`),
  );
  await script.waitForLine(/up/);
  expect(await script.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
});
