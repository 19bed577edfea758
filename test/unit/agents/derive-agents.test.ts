import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { deriveAgents, type RepositoryFile } from "../../../src/agents/derive-agents.ts";
import { groupKey } from "../../../src/agents/spec-path.ts";
import { type AgentSpec, AgentSpecBase } from "../../../src/frameworks/index.ts";

const schemas = new Map<string, z.ZodType<AgentSpec>>(
  ["ai-sdk", "graph"].map((id) => [id, AgentSpecBase.extend({ framework: z.literal(id) })]),
);

const file = (path: string, text: string): RepositoryFile => ({
  path,
  blobSha: `sha of ${path}`,
  content: { bytes: Buffer.from(text) },
});

const spec = (name: string, framework = "ai-sdk", ending = "yaml") =>
  file(
    `agents/${framework}/${name}.${ending}`,
    JSON.stringify({ name, framework, model: "offline/echo", instructions: "x" }),
  );

const evals = (name: string, framework = "ai-sdk", ending = "yaml") =>
  file(
    `agents/${framework}/${name}.eval.${ending}`,
    JSON.stringify({ cases: [{ name: "a", input: "b", assert: { equals: "b" } }] }),
  );

/** The agents of the files with the beginnings of their problems. */
const summary = (files: RepositoryFile[]) =>
  deriveAgents(files, schemas).agents.map(({ path, spec: valid, problems }) => ({
    path: path.replace("agents/", ""),
    valid: valid !== undefined,
    messages: problems.map(({ message }) => message),
  }));

describe("deriveAgents", () => {
  test("derives an agent with its evals", () => {
    const { agents, catalogProblems } = deriveAgents(
      [evals("a"), spec("a"), file("agents/README.md", "x")],
      schemas,
    );
    expect(catalogProblems).toEqual([]);
    expect(agents).toMatchObject([
      {
        path: "agents/ai-sdk/a.yaml",
        name: "a",
        framework: "ai-sdk",
        format: "yaml",
        blobSha: "sha of agents/ai-sdk/a.yaml",
        spec: { name: "a", retries: 2 },
        specText: expect.stringContaining('"name":"a"'),
        problems: [],
        hasEvals: true,
        evalPath: "agents/ai-sdk/a.eval.yaml",
        evalBlobSha: "sha of agents/ai-sdk/a.eval.yaml",
        evalText: expect.stringContaining('"cases"'),
        evalProblems: [],
      },
    ]);
  });

  test("an agent without evals says so", () => {
    const [agent] = deriveAgents([spec("a")], schemas).agents;
    expect(agent).toMatchObject({
      hasEvals: false,
      evalPath: undefined,
      evalText: undefined,
      evalProblems: [],
    });
  });

  test("two files with one name are both invalid and name each other", () => {
    expect(summary([spec("a"), spec("a", "graph"), spec("b")])).toEqual([
      {
        path: "ai-sdk/a.yaml",
        valid: false,
        messages: ["`agents/graph/a.yaml` has the same name; rename or remove one of the two."],
      },
      { path: "ai-sdk/b.yaml", valid: true, messages: [] },
      {
        path: "graph/a.yaml",
        valid: false,
        messages: ["`agents/ai-sdk/a.yaml` has the same name; rename or remove one of the two."],
      },
    ]);
    expect(summary([spec("a"), spec("a", "ai-sdk", "json")])).toMatchObject([
      { valid: false, messages: [expect.stringContaining("`agents/ai-sdk/a.yaml` has the same name")] },
      { valid: false, messages: [expect.stringContaining("`agents/ai-sdk/a.json` has the same name")] },
    ]);
  });

  test("names that differ in case are two problems, not one agent", () => {
    expect(summary([spec("foo"), spec("Foo"), evals("Foo")])).toMatchObject([
      { path: "ai-sdk/Foo.yaml", valid: false },
      {
        path: "ai-sdk/foo.yaml",
        valid: false,
        messages: [
          expect.stringContaining("differs only in how it is written from that of `agents/ai-sdk/Foo.yaml`"),
        ],
      },
    ]);
    expect(
      deriveAgents([spec("foo"), spec("Foo"), evals("Foo")], schemas).agents.map(({ hasEvals }) => hasEvals),
    ).toEqual([true, false]);
  });

  test("what cannot be parsed is named by its path", () => {
    const [agent] = deriveAgents([file("agents/graph/a.json", "{")], schemas).agents;
    expect(agent).toMatchObject({
      name: "a",
      framework: "graph",
      format: "json",
      spec: undefined,
      specText: "{",
    });
    expect(agent?.problems).toMatchObject([{ line: 1, column: 2 }]);
  });

  test("bytes that are no text are shown as far as they go", () => {
    const broken: RepositoryFile = {
      path: "agents/ai-sdk/a.yaml",
      blobSha: "1",
      content: { bytes: Buffer.of(0x61, 0xff) },
    };
    expect(deriveAgents([broken], schemas).agents).toMatchObject([{ specText: "a\ufffd", spec: undefined }]);
  });

  test("what was not read is a problem of that file alone", () => {
    const large: RepositoryFile = { path: "agents/ai-sdk/a.yaml", blobSha: "1", content: { tooLarge: true } };
    const link: RepositoryFile = {
      path: "agents/ai-sdk/b.eval.yaml",
      blobSha: "2",
      content: { problem: "It is a link." },
    };
    const { agents } = deriveAgents([large, spec("b"), link], schemas);
    expect(agents).toMatchObject([
      {
        name: "a",
        spec: undefined,
        specText: undefined,
        problems: [{ message: "The file is over 128 KiB; make it shorter.", line: 1, column: 1 }],
      },
      {
        name: "b",
        spec: { name: "b" },
        problems: [],
        hasEvals: true,
        evalText: undefined,
        evalProblems: [{ message: "It is a link." }],
      },
    ]);
  });

  test("two eval files, or a broken one, leave the agent valid", () => {
    const { agents } = deriveAgents(
      [
        spec("a"),
        evals("a"),
        evals("a", "ai-sdk", "json"),
        spec("b"),
        file("agents/ai-sdk/b.eval.yml", "cases: 1\n"),
      ],
      schemas,
    );
    expect(agents).toMatchObject([
      {
        spec: { name: "a" },
        hasEvals: true,
        evalPath: "agents/ai-sdk/a.eval.json",
        evalProblems: [
          { message: "`agents/ai-sdk/a.eval.yaml` is a second eval file of this agent; keep one." },
        ],
      },
      {
        spec: { name: "b" },
        hasEvals: true,
        evalPath: "agents/ai-sdk/b.eval.yml",
        evalProblems: [{ path: "cases", line: 1, column: 8 }],
      },
    ]);
  });

  test("an eval file without an agent is a problem of the catalog", () => {
    const { agents, catalogProblems } = deriveAgents([evals("a", "graph"), spec("a"), evals("b")], schemas);
    expect(agents).toMatchObject([{ hasEvals: false, problems: [] }]);
    expect(catalogProblems).toMatchObject([
      {
        path: "agents/ai-sdk/b.eval.yaml",
        message: expect.stringContaining("add the agent or remove this file"),
        line: 1,
        column: 1,
      },
      {
        path: "agents/graph/a.eval.yaml",
        message: expect.stringContaining("`agents/ai-sdk/a.yaml`, put it next to that file"),
      },
    ]);
  });

  test("one name in thousands of folders stays cheap to tell", () => {
    const files = Array.from({ length: 3_000 }, (_, at) => spec("a", `f${at}`));
    const { agents } = deriveAgents(files, schemas);
    expect(agents).toHaveLength(3_000);
    for (const { problems } of agents) expect(problems.length).toBeLessThanOrEqual(7);
  });

  test("deriving group by group is deriving all", () => {
    const path = fc
      .tuple(
        fc.constantFrom("ai-sdk", "graph", "x"),
        fc.constantFrom("a", "A", "b", "B ", "c"),
        fc.constantFrom("yaml", "json", "eval.yaml", "eval.json", "md"),
      )
      .map(([framework, name, ending]) => `agents/${framework}/${name}.${ending}`);
    const content = fc.constantFrom(
      "",
      "{",
      '{"name": "a", "framework": "ai-sdk", "model": "x/y", "instructions": "z"}',
      '{"cases": []}',
    );
    const files = fc.uniqueArray(fc.tuple(path, content), { selector: ([text]) => text, maxLength: 15 });
    fc.assert(
      fc.property(files, (drawn) => {
        const all = drawn.map(([text, body]) => file(text, body));
        const groups = [...Map.groupBy(all, ({ path: text }) => groupKey(text)).values()];
        const parts = groups.map((group) => deriveAgents(group, schemas));
        const byPath = <T extends { path: string }>(list: T[]) =>
          list.toSorted((a, b) => (a.path < b.path ? -1 : 1));
        const whole = deriveAgents(all, schemas);
        expect(byPath(parts.flatMap(({ agents }) => agents))).toEqual(whole.agents);
        expect(byPath(parts.flatMap(({ catalogProblems }) => catalogProblems))).toEqual(
          whole.catalogProblems,
        );
        for (const { spec: valid, problems } of whole.agents)
          expect(valid === undefined).toBe(problems.length > 0);
      }),
    );
  });
});
