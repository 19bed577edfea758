import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseSpec } from "../../../src/agents/parse-spec.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";
import { checkGraph } from "../../../src/frameworks/langgraph/check-graph.ts";
import { Graph } from "../../../src/frameworks/langgraph/graph-schema.ts";
import { chosen } from "../../../src/frameworks/langgraph/node.ts";

const head = "name: a\nframework: langgraph\nmodel: offline/echo\ninstructions: x\nconnections: [A_B]\n";

/** Problems of a spec with this graph as "line:column path|message"; the graph begins in line 7. */
function problemsOf(graph: string): string[] {
  const { problems } = parseSpec(
    { content: `${head}graph:\n${graph.replace(/^/gm, "  ")}\n`, format: "yaml" },
    frameworkSpecs,
  );
  return problems.map(({ line, column, path, message }) => `${line}:${column} ${path}|${message}`);
}

const graphOf = (start: string, nodes: string, edges: string) =>
  `start: ${start}\nnodes: [${nodes}]\nedges: [${edges}]`;
const agents = (...names: string[]) => names.map((name) => `{name: ${name}}`).join(", ");
const edge = (from: string, to: string) => `{from: ${from}, to: ${to}}`;

describe("a graph in a spec", () => {
  it.each([
    ["one node", graphOf("a", agents("a"), "")],
    ["a line", graphOf("a", agents("a", "b"), edge("a", "b"))],
    ["a fork with two ends", graphOf("a", agents("a", "b", "c"), `${edge("a", "b")}, ${edge("a", "c")}`)],
    [
      "a fork that is joined",
      graphOf(
        "a",
        agents("a", "b", "c", "d"),
        [edge("a", "b"), edge("a", "c"), edge("[b, c]", "d")].join(", "),
      ),
    ],
    [
      "a fork that is joined and gone through again",
      graphOf(
        "a",
        `${agents("a", "b", "c", "d", "e")}, {name: r, kind: route}`,
        [
          edge("a", "b"),
          edge("a", "c"),
          edge("[b, c]", "d"),
          edge("d", "r"),
          edge("r", "a"),
          edge("r", "e"),
        ].join(", "),
      ),
    ],
    [
      "ways of a route that meet again",
      graphOf(
        "r",
        `{name: r, kind: route}, ${agents("a", "b", "c")}`,
        [edge("r", "a"), edge("r", "b"), edge("a", "c"), edge("b", "c")].join(", "),
      ),
    ],
  ])("may be %s", (_what, graph) => {
    expect(problemsOf(graph)).toEqual([]);
  });

  it.each([
    ["no node", "start: a\nnodes: []", /8:10 graph\.nodes\|.*at least/],
    [
      "a start that is not there",
      graphOf("b", agents("a"), ""),
      "7:10 graph.start|There is no node `b`; use one of `a`.",
    ],
    [
      "an edge to nowhere",
      graphOf("a", agents("a"), edge("a", "b")),
      /9:\d+ graph\.edges\[0\]\.to\|There is no node `b`/,
    ],
    [
      "an edge from nowhere",
      graphOf("a", agents("a"), edge("[a, b]", "a")),
      /graph\.edges\[0\]\.from\[1\]\|There is no node `b`/,
    ],
    [
      "an output that is not there",
      `${graphOf("a", agents("a"), "")}\noutput: z`,
      "10:11 graph.output|There is no node `z`; use one of `a`.",
    ],
    [
      "two nodes of one name",
      graphOf("a", agents("a", "a"), ""),
      /8:\d+ graph\.nodes\[1\]\.name\|There are two nodes `a`/,
    ],
    [
      "a node that nothing leads to",
      graphOf("a", agents("a", "b"), ""),
      /graph\.nodes\[1\]\.name\|No edge leads from `a` to `b`/,
    ],
    [
      "a circle without a way out",
      graphOf("a", agents("a", "b"), `${edge("a", "b")}, ${edge("b", "a")}`),
      /graph\.nodes\[0\]\.name\|From `a` there is no way/,
    ],
    [
      "a route with one way",
      graphOf("r", `{name: r, kind: route}, ${agents("a")}`, edge("r", "a")),
      /graph\.nodes\[0\]\.kind\|`r` is a route/,
    ],
    [
      "a route with tools",
      graphOf(
        "r",
        `{name: r, kind: route, connections: [A_B]}, ${agents("a", "b")}`,
        `${edge("r", "a")}, ${edge("r", "b")}`,
      ),
      /graph\.nodes\[0\]\.connections\|A route calls no tools/,
    ],
    [
      "a tool that the spec lacks",
      graphOf("a", "{name: a, connections: [A_B, C_D]}", ""),
      /graph\.nodes\[0\]\.connections\[1\]\|`C_D` is not among/,
    ],
    [
      "a choice without a route",
      graphOf("a", agents("a", "b"), "{from: a, to: b, when: always}"),
      /graph\.edges\[0\]\.when\|Only edges from a route/,
    ],
    [
      "an edge that is there twice",
      graphOf("a", agents("a", "b"), `${edge("a", "b")}, ${edge("a", "b")}`),
      /graph\.edges\[1\]\|This edge is there twice/,
    ],
    [
      "branches that meet without waiting",
      graphOf(
        "a",
        agents("a", "b", "c", "d"),
        [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")].join(", "),
      ),
      /graph\.edges\[2\]\|`d` follows several branches of `a`/,
    ],
    [
      "an unknown key",
      `${graphOf("a", "{name: a, instruction: x}", "")}`,
      /graph\.nodes\[0\]\.instruction\|.*did you mean `instructions`/,
    ],
    ["a name that is none", graphOf("A", agents("A"), ""), /graph\.start\|Use 1 to 41 lower-case/],
  ])("cannot have %s", (_what, graph, problem) => {
    expect(problemsOf(graph)[0]).toMatch(problem);
  });
});

test.each(["front-desk", "report"])("the spec %s of the documentation is sound", (name) => {
  const blocks = readFileSync("docs/specs.md", "utf8")
    .split("```yaml\n")
    .map((text) => text.split("```")[0] ?? "");
  const content = blocks.find((block) => block.startsWith(`name: ${name}\n`)) ?? "";
  expect(parseSpec({ content, format: "yaml", name }, frameworkSpecs).problems).toEqual([]);
});

test.each([
  ["billing", "billing"],
  ["**Billing.**", "billing"],
  ["I choose tech-support because of the invoice", "tech-support"],
  ["billing or tech-support", undefined],
  ["tech", undefined],
  ["", undefined],
])("a route's model that says %j has chosen %s", (answer, name) => {
  expect(chosen(answer, ["billing", "tech-support"])).toBe(name);
});

test("whatever its shape, a graph is checked without an error, and a sound one has a way from start to an end", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e");
  const from = fc.oneof(name, fc.array(name, { minLength: 2, maxLength: 3 }));
  const kind = fc.constantFrom("agent" as const, "route" as const);
  const graphs = fc.record({
    start: name,
    nodes: fc.uniqueArray(fc.record({ name, kind }), { minLength: 1, selector: (node) => node.name }),
    edges: fc.array(fc.record({ from, to: name }), { maxLength: 8 }),
  });
  fc.assert(
    fc.property(graphs, (input) => {
      const graph = Graph.parse(input);
      if (checkGraph(graph, []).length > 0) return;
      const reached = new Set([graph.start]);
      for (const at of reached)
        for (const each of graph.edges) if ([each.from].flat().includes(at)) reached.add(each.to);
      expect(reached.size).toBe(graph.nodes.length);
      const left = new Set(graph.edges.flatMap((each) => each.from));
      expect(graph.nodes.some((node) => !left.has(node.name))).toBe(true);
    }),
    { numRuns: 500 },
  );
});
