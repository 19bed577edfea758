import type { Graph } from "./graph-schema.ts";

/** Something that a graph's author has to correct; `path` leads to it from the graph on. */
export interface GraphProblem {
  path: (string | number)[];
  message: string;
}

/** One arrow of the graph; a join is several of them with one index. */
interface Arrow {
  from: string;
  to: string;
  /** Of its edge in the spec. */
  index: number;
  isJoin: boolean;
}

/**
 * Everything that keeps a graph from being executed to an end, beyond what its schema says: names that do not
 * exist, nodes that no run comes to or leaves, and branches that would run what follows them several times.
 */
export function checkGraph(graph: Graph, connections: readonly string[]): GraphProblem[] {
  // The schema says it already.
  if (graph.nodes.length === 0) return [];
  const local = [...checkNodes(graph, connections), ...checkNames(graph), ...checkEdges(graph)];
  // Ways through the graph are looked at only where every name means one node.
  return local.length > 0 ? local : [...checkWays(graph), ...checkForks(graph)];
}

/** The sources of an edge. */
export const sourcesOf = ({ from }: Graph["edges"][number]): readonly string[] =>
  typeof from === "string" ? [from] : from;

/** Agent nodes that nothing follows: there a run ends. */
export function endsOf({ nodes, edges }: Graph): string[] {
  const left = new Set(edges.flatMap(sourcesOf));
  return nodes.map(({ name }) => name).filter((name) => !left.has(name));
}

function checkNodes({ nodes, edges, output }: Graph, connections: readonly string[]): GraphProblem[] {
  return nodes.flatMap(({ name, kind, connections: slugs = [] }, index): GraphProblem[] => {
    const at = (...path: (string | number)[]) => ["nodes", index, ...path];
    const problems: GraphProblem[] = [];
    if (nodes.findIndex((other) => other.name === name) < index)
      problems.push({ path: at("name"), message: `There are two nodes \`${name}\`; rename one of them.` });
    slugs.forEach((slug, position) => {
      if (connections.includes(slug)) return;
      const message = `\`${slug}\` is not among the spec's own connections; add it there, too.`;
      problems.push({ path: at("connections", position), message });
    });
    if (kind === "agent") return problems;
    if (slugs.length > 0)
      problems.push({ path: at("connections"), message: "A route calls no tools; leave connections out." });
    if (edges.filter((edge) => edge.from === name).length < 2)
      problems.push({ path: at("kind"), message: `\`${name}\` is a route; give it two edges or more.` });
    if (output === name)
      problems.push({ path: ["output"], message: "A route has no answer; name an agent node." });
    return problems;
  });
}

function checkNames({ nodes, edges, start, output }: Graph): GraphProblem[] {
  const names = nodes.map(({ name }) => name);
  const known = names.map((name) => `\`${name}\``).join(", ");
  const check = (path: GraphProblem["path"], name: string): GraphProblem[] =>
    names.includes(name) ? [] : [{ path, message: `There is no node \`${name}\`; use one of ${known}.` }];
  return [
    ...check(["start"], start),
    ...(output === undefined ? [] : check(["output"], output)),
    ...edges.flatMap(({ from, to }, index) => [
      ...(typeof from === "string"
        ? check(["edges", index, "from"], from)
        : from.flatMap((name, position) => check(["edges", index, "from", position], name))),
      ...check(["edges", index, "to"], to),
    ]),
  ];
}

function checkEdges({ nodes, edges }: Graph): GraphProblem[] {
  const routes = new Set(nodes.filter(({ kind }) => kind === "route").map(({ name }) => name));
  return edges.flatMap((edge, index): GraphProblem[] => {
    const sources = sourcesOf(edge);
    const problems: GraphProblem[] = [];
    const add = (message: string, ...path: string[]) =>
      problems.push({ path: ["edges", index, ...path], message });
    if (edge.when !== undefined && !routes.has(String(edge.from)))
      add("Only edges from a route have `when`; leave it out or make the node a route.", "when");
    if (typeof edge.from !== "string" && sources.some((name) => routes.has(name)))
      add("A list in `from` cannot have a route in it; give the route an edge of its own.", "from");
    if (new Set(sources).size < sources.length) add("Name each node once.", "from");
    if (edges.slice(0, index).some((other) => other.to === edge.to && sameSources(other, edge)))
      add("This edge is there twice; remove one.");
    return problems;
  });
}

function sameSources(one: Graph["edges"][number], other: Graph["edges"][number]): boolean {
  return sourcesOf(one).toSorted().join() === sourcesOf(other).toSorted().join();
}

function checkWays(graph: Graph): GraphProblem[] {
  const arrows = arrowsOf(graph);
  const reached = reachable(graph.start, arrows);
  const backwards = arrows.map((arrow) => ({ ...arrow, from: arrow.to, to: arrow.from }));
  const ending = new Set(endsOf(graph).flatMap((name) => [...reachable(name, backwards)]));
  return graph.nodes.flatMap(({ name }, index) => {
    const path = ["nodes", index, "name"];
    if (!reached.has(name))
      return [
        { path, message: `No edge leads from \`${graph.start}\` to \`${name}\`; add one or remove it.` },
      ];
    if (!ending.has(name))
      return [{ path, message: `From \`${name}\` there is no way to a node that ends the run; add one.` }];
    return [];
  });
}

/** What follows several branches of one fork has to wait for them, or it would be executed once for each. */
function checkForks(graph: Graph): GraphProblem[] {
  const arrows = arrowsOf(graph);
  const found = new Map<number, GraphProblem>();
  for (const { name, kind } of graph.nodes) {
    if (kind === "route") continue;
    const branches = arrows
      .filter(({ from, isJoin }) => from === name && !isJoin)
      .map(({ to }) => reachable(to, arrows, name));
    for (const [index, branch] of branches.entries()) {
      for (const other of branches.slice(index + 1)) {
        const shared = branch.intersection(other);
        for (const arrow of arrows) {
          if (arrow.isJoin || !shared.has(arrow.to) || shared.has(arrow.from)) continue;
          const message = `\`${arrow.to}\` follows several branches of \`${name}\`; lead to it by one edge that lists them in \`from\`.`;
          found.set(arrow.index, { path: ["edges", arrow.index], message });
        }
      }
    }
  }
  return [...found.values()];
}

function arrowsOf({ edges }: Graph): Arrow[] {
  return edges.flatMap((edge, index) =>
    sourcesOf(edge).map((from) => ({ from, to: edge.to, index, isJoin: typeof edge.from !== "string" })),
  );
}

/** A node and all that arrows lead to from it, without going on from `barrier`. */
function reachable(from: string, arrows: readonly Arrow[], barrier?: string): Set<string> {
  const found = new Set([from]);
  for (const name of found) {
    if (name === barrier) continue;
    for (const arrow of arrows) if (arrow.from === name) found.add(arrow.to);
  }
  return found;
}
