import type { Framework } from "../types.ts";
import { LanggraphSpec } from "./spec.ts";

/** Agents that run on LangGraph: a declared graph of steps, or one model with its tools. */
export const langgraph: Framework = {
  id: "langgraph",
  spec: LanggraphSpec,
  async load(deps) {
    const { createRunner } = await import("./run.ts");
    return createRunner(deps);
  },
};
