import { type FrameworkRun, frameworkSpecs } from "../src/frameworks/index.ts";
import { resolveModel } from "../src/models/index.ts";
import { instructions, message, tool } from "./bare-libraries.ts";

/** One run of the smallest spec of a framework, with everything that the executor gives a run. */
export function frameworkRun(framework: string, baseUrl: string): FrameworkRun {
  const ref = "openai-compatible/bench";
  const spec = frameworkSpecs
    .get(framework)
    ?.parse({ name: "bench", framework, model: ref, instructions, connections: [tool.slug] });
  const resolved = resolveModel(ref, { "openai-compatible": { baseUrl, apiKey: "none" } });
  if (!spec || !resolved.ok) throw new Error(`The bench does not fit ${framework}.`);
  return {
    spec,
    message,
    model: resolved.model,
    tools: [{ ...tool, execute: async () => ({ ok: true, content: tool.answer }) }],
    signal: new AbortController().signal,
    emit: () => {},
    spend: async () => {},
  };
}
