import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startScript } from "../../support/child-process.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import { specText } from "../../support/run-requests.ts";

const member = (name: string, handoffs: readonly string[]) =>
  specText(name, { framework: "openai-agents", model: "openai-compatible/m", handoffs });

const evals = 'cases: [{name: it is handed on, input: "Hello", assert: {contains: "from the back"}}]\n';

it("evals without a server find the agents that are handed to", async () => {
  const simulator = await startModelSimulator();
  onTestFinished(() => simulator.close());
  const home = await mkdtemp(join(tmpdir(), "rollcall-evals-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const files = {
    "front.json": member("front", ["back"]),
    "front.eval.yaml": evals,
    "back.json": member("back", []),
    "lost.json": member("lost", ["nobody"]),
    "lost.eval.yaml": evals,
  };
  const folder = join(home, "agents", "openai-agents");
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  simulator.script({ toolCalls: [{ name: "transfer_to_back", args: {} }] }, { text: "Hi from the back." });
  const script = startScript(join(import.meta.dirname, "../../../src/main.ts"), {
    args: ["evals", "run", home],
    env: { OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`, ROLLCALL_HOME: home },
  });
  expect(await script.exit).toEqual({ code: 1, signal: null });
  const text = script.lines.join("\n");
  expect(text).toMatch(/front +it is handed on +passed/);
  expect(text).toMatch(/lost +it is handed on +FAILED/);
  expect(text).toContain("nobody");
  expect(simulator.requests).toHaveLength(2);
});
