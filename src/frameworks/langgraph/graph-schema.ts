import { z } from "zod";
import { ModelRef, ToolSlugs } from "../spec.ts";

const NodeName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,40}$/,
    "Use 1 to 41 lower-case letters, digits, hyphens and underscores, beginning with a letter.",
  );

const GraphNode = z.strictObject({
  name: NodeName.describe("Stands in edges and in the trace."),
  kind: z
    .enum(["agent", "route"])
    .default("agent")
    .describe("agent: a model with tools, until it has an answer. route: a model that chooses what is next."),
  instructions: z
    .string()
    .min(1)
    .max(100_000)
    .optional()
    .describe("Of this node; the spec's instructions go before them."),
  model: ModelRef.optional().describe("The spec's model unless given."),
  connections: ToolSlugs.optional().describe(
    "Those of the spec's tools that the node may call; all unless given.",
  ),
});

const GraphEdge = z.strictObject({
  from: z
    .union([NodeName, z.array(NodeName).min(2).max(16)])
    .describe("A node, or a list of nodes that all have to be done first."),
  to: NodeName,
  when: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe("For edges from a route: when this is the one to choose, for the model."),
});

/** The steps of an agent and their order. */
export const Graph = z.strictObject({
  start: NodeName.describe("The node that is first."),
  nodes: z.array(GraphNode).min(1).max(32),
  edges: z.array(GraphEdge).max(128).default([]),
  output: NodeName.optional().describe(
    "The node whose answer is the run's; the one that ends last unless given.",
  ),
});

export type Graph = z.infer<typeof Graph>;
export type GraphNode = z.infer<typeof GraphNode>;
