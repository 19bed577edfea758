import type { Framework } from "../types.ts";
import { OpenaiAgentsSpec } from "./spec.ts";

/** Agents that run on the OpenAI Agents SDK, with any provider's models, and may hand off to each other. */
export const openaiAgents: Framework = {
  id: "openai-agents",
  spec: OpenaiAgentsSpec,
  async load(deps) {
    const { createRunner } = await import("./run.ts");
    return createRunner(deps);
  },
};
