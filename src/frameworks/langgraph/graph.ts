import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { RunFailure } from "../failure.ts";
import type { Session } from "../model-call/session.ts";
import { endsOf } from "./check-graph.ts";
import type { Graph } from "./graph-schema.ts";
import { createNode } from "./node.ts";
import { inOrder, Progress } from "./progress.ts";

/** Executes a declared graph and resolves to its answer. Nodes of one round go on at the same time. */
export async function runGraph(
  graph: Graph,
  session: Session,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const nodes = await Promise.all(
    graph.nodes.map(async (node) => [node.name, await createNode(node, graph, session)] as const),
  );
  const builder: Builder = new StateGraph(Progress);
  for (const [name, node] of nodes) builder.addNode(name, node);
  builder.addEdge(START, graph.start);
  connect(builder, graph);
  const state = await builder.compile().invoke({}, config);
  return outputOf(graph, state.Answers);
}

type Builder = StateGraph<typeof Progress.spec, Progress, typeof Progress.Update, string>;

function connect(builder: Builder, graph: Graph): void {
  for (const { name, kind } of graph.nodes) {
    if (kind !== "route") continue;
    const targets = graph.edges.filter(({ from }) => from === name).map(({ to }) => to);
    builder.addConditionalEdges(name, ({ Choices }) => Choices[name] ?? END, targets);
  }
  const routes = new Set(graph.nodes.filter(({ kind }) => kind === "route").map(({ name }) => name));
  for (const { from, to } of graph.edges) {
    if (typeof from !== "string" || !routes.has(from)) builder.addEdge(from, to);
  }
  for (const name of endsOf(graph)) builder.addEdge(name, END);
}

/** The answer of the node that the spec names, else of the end that was come to last. */
function outputOf(graph: Graph, answers: Progress["Answers"]): string {
  const named = graph.output === undefined ? undefined : answers[graph.output];
  const ends = new Set(endsOf(graph));
  const reached = inOrder(graph, answers).filter(({ name }) => ends.has(name));
  const last = reached.at(-1);
  if (last) return (named ?? last).text;
  const waiting = graph.edges.filter(({ from }) => typeof from !== "string").map(({ to }) => to);
  throw new RunFailure(
    "invalid_spec",
    `No node that ends the run was come to: of the nodes before ${waiting.join(" or ")} not all were chosen.`,
  );
}
