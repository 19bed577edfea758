import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { frameworks } from "../../../src/frameworks/index.ts";
import { startScript } from "../../support/child-process.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";

const support = (file: string) => join(import.meta.dirname, "../../support", file);
const ids = frameworks.map(({ id }) => id);

/** Packages of the frameworks, by the first part of their names. */
const libraries = /^loaded (ai|openai|@ai-sdk\/.*|@openai\/.*|@langchain\/.*|langsmith)$/;

describe("the libraries of frameworks", () => {
  it("are not loaded by a start of the service", async () => {
    const home = mkdtempSync(join(tmpdir(), "rollcall-imports-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const script = startScript(support("imports-process.ts"), {
      args: ["start"],
      env: { ROLLCALL_HOME: home, PORT: "0", HOST: "127.0.0.1" },
      cwd: home,
    });
    await script.waitForLine(/http:\/\/127\.0\.0\.1:\d+/);
    const ready = script.lines.findIndex((line) => line.includes("http://127.0.0.1:"));
    expect(script.lines).toContain("loaded express");
    expect(script.lines.slice(0, ready).filter((line) => libraries.test(line))).toEqual([]);
    // What the first run would have to wait for is loaded ahead; the others wait for an agent of theirs.
    await script.waitForLine(/^loaded ai$/);
    await script.kill("SIGTERM");
    expect(script.lines.filter((line) => /@openai\/|@langchain\/|langsmith/.test(line))).toEqual([]);
  });

  it.each([
    ["ai-sdk", "loaded ai"],
    ["openai-agents", "loaded @openai/agents"],
    ["langgraph", "loaded @langchain/langgraph"],
  ])("are loaded with %s", async (id, line) => {
    const script = startScript(support("imports-process.ts"), { args: ["framework", id] });
    expect(await script.exit).toEqual({ code: 0, signal: null });
    expect(script.lines).toContain(line);
  });

  it.each(ids)(
    "send, print and keep nothing of their own in %s, whatever the environment says",
    async (id) => {
      const simulator = await startModelSimulator();
      onTestFinished(() => simulator.close());
      simulator.script({ toolCalls: [{ name: "WEATHER_TODAY", args: {} }] }, { text: "Sunny." });
      const script = startScript(support("framework-process.ts"), {
        args: [`${simulator.origin}/v1`, id],
        env: {
          OPENAI_API_KEY: "sk-of-the-environment",
          OPENAI_BASE_URL: "http://127.0.0.1:9/openai",
          OPENAI_DEFAULT_MODEL: "gpt-5",
          LANGSMITH_TRACING: "true",
          LANGCHAIN_TRACING_V2: "true",
          LANGSMITH_API_KEY: "lsv2_of_the_environment",
          LANGSMITH_ENDPOINT: "http://127.0.0.1:9/langsmith",
          LANGCHAIN_VERBOSE: "true",
        },
      });
      expect(await script.exit).toEqual({ code: 0, signal: null });
      expect(script.stderr()).toBe("");
      const seen = { output: "Sunny.", origins: [simulator.origin], added: [0, 0, 0, 0] };
      expect(script.lines.map((line) => JSON.parse(line))).toEqual([seen]);
    },
  );
});
