/**
 * Runs one agent with two steps and a tool on the model server at the first argument, in the framework of the
 * second one. Prints one line: where requests went, what listens on the process, and the answer.
 */
import { subscribe } from "node:diagnostics_channel";
import { frameworkSpecs, loadFramework } from "../../src/frameworks/index.ts";
import { resolveModel } from "../../src/models/index.ts";

const [baseUrl = "", framework = ""] = process.argv.slice(2);
const origins = new Set<string>();
subscribe("undici:request:create", (message) => {
  const { request } = message as { request: { origin: string } };
  origins.add(String(request.origin));
});
const listeners = () =>
  ["beforeExit", "SIGINT", "SIGTERM", "unhandledRejection"].map((event) => process.listenerCount(event));
const before = listeners();

const spec = frameworkSpecs
  .get(framework)
  ?.parse({ name: "tester", framework, model: "openai-compatible/m", instructions: "You test." });
const resolved = resolveModel("openai-compatible/m", { "openai-compatible": { baseUrl } });
if (!spec || !resolved.ok) throw new Error("The test does not fit.");
const execute = await loadFramework(framework);
const { output } = await execute({
  spec,
  message: "Hello",
  model: resolved.model,
  tools: [
    {
      slug: "WEATHER_TODAY",
      description: "Says what the weather is like.",
      inputSchema: { type: "object" },
      execute: async () => ({ ok: true, content: "clear" }),
    },
  ],
  signal: new AbortController().signal,
  emit: () => {},
  spend: async () => {},
});
const added = listeners().map((count, index) => count - (before[index] ?? 0));
console.log(JSON.stringify({ output, origins: [...origins], added }));
