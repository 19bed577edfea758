import { Annotation } from "@langchain/langgraph";
import type { Graph } from "./graph-schema.ts";

/** What a node came to, and in which round of the graph. */
export interface NodeAnswer {
  text: string;
  round: number;
}

const merge = <T>(before: Record<string, T>, more: Record<string, T>) => ({ ...before, ...more });

/** How far a run of a graph is. Names in capitals: nodes, whose names are in lower case, share them in the library. */
export const Progress = Annotation.Root({
  /** The latest answer of each agent node. */
  Answers: Annotation<Record<string, NodeAnswer>>({ reducer: merge, default: () => ({}) }),
  /** The latest choice of each route. */
  Choices: Annotation<Record<string, string>>({ reducer: merge, default: () => ({}) }),
});

export type Progress = typeof Progress.State;

/** Answers in the order in which they were given; of one round, in that of the spec. */
export function inOrder(graph: Graph, answers: Progress["Answers"]): (NodeAnswer & { name: string })[] {
  return graph.nodes
    .flatMap(({ name }) => {
      const answer = answers[name];
      return answer ? [{ name, ...answer }] : [];
    })
    .sort((one, other) => one.round - other.round);
}
