import { z } from "zod";
import { AgentName, AgentSpecBase } from "../spec.ts";

/** Specs of agents that run on the OpenAI Agents SDK. */
export const OpenaiAgentsSpec = AgentSpecBase.extend({
  framework: z.literal("openai-agents").describe("Equals the folder below agents/."),
  handoffs: z
    .array(AgentName)
    .max(8)
    .refine((names) => new Set(names).size === names.length, "Name each agent once.")
    .default([])
    .describe("Agents of openai-agents in this repository that the agent may leave the rest of a run to."),
}).superRefine(({ name, handoffs }, context) => {
  const index = handoffs.indexOf(name);
  if (index < 0) return;
  context.addIssue({
    code: "custom",
    path: ["handoffs", index],
    message: "An agent cannot hand off to itself; name another one.",
  });
});

export type OpenaiAgentsSpec = z.infer<typeof OpenaiAgentsSpec>;
