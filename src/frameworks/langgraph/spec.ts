import { z } from "zod";
import { AgentSpecBase } from "../spec.ts";
import { checkGraph } from "./check-graph.ts";
import { Graph } from "./graph-schema.ts";

/** Specs of agents that run on LangGraph: with a graph, or one model with its tools. */
export const LanggraphSpec = AgentSpecBase.extend({
  framework: z.literal("langgraph").describe("Equals the folder below agents/."),
  graph: Graph.optional().describe("Steps in an order of their own; one model with its tools unless given."),
}).superRefine(({ graph, connections }, context) => {
  if (!graph) return;
  for (const { path, message } of checkGraph(graph, connections))
    context.addIssue({ code: "custom", path: ["graph", ...path], message });
});

export type LanggraphSpec = z.infer<typeof LanggraphSpec>;
