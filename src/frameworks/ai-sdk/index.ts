import { z } from "zod";
import { AgentSpecBase } from "../spec.ts";
import type { Framework } from "../types.ts";

/** Agents that run on the Vercel AI SDK. Its spec has no keys of its own. */
export const aiSdk: Framework = {
  id: "ai-sdk",
  spec: AgentSpecBase.extend({ framework: z.literal("ai-sdk").describe("Equals the folder below agents/.") }),
  async load(deps) {
    const { createRunner } = await import("./run.ts");
    return createRunner(deps);
  },
};
