import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { deriveAgents } from "../../../src/agents/derive-agents.ts";
import { type ChangedAgent, createCommitComparison } from "../../../src/agents/index.ts";
import { readEntries } from "../../../src/agents/read-at-commit.ts";
import { frameworkSpecs as schemas } from "../../../src/frameworks/index.ts";
import { createLocalReader, openRepository, type RepositoryReader } from "../../../src/repositories/index.ts";
import { createTestRepository, type TestFile, type TestRepository } from "../../support/git-repository.ts";
import { startGitHubSimulator } from "../../support/github-simulator.ts";

type Files = Record<string, TestFile>;

const spec = (name: string, instructions = "x", framework = "ai-sdk") =>
  `name: ${name}\nframework: ${framework}\nmodel: offline/echo\ninstructions: ${instructions}\n`;
const evals = (output = "a") => `cases: [{name: a, input: a, assert: {equals: ${output}}}]\n`;
const at = (path: string) => `agents/ai-sdk/${path}`;

/** What matters of a comparison, without the whole agents. */
const brief = (changed: readonly ChangedAgent[]) =>
  changed.map(({ head, base }) => [head.path.replace("agents/", ""), base?.path.replace("agents/", "")]);

describe("a comparison of commits", () => {
  let repository: TestRepository;
  let reader: RepositoryReader;

  beforeEach(async () => {
    repository = await createTestRepository();
    reader = createLocalReader({ path: repository.gitdir });
    return () => repository.remove();
  });

  /** Compares two sets of files, each committed by itself. */
  async function compare(before: Files, after: Files) {
    const [base, head] = [await repository.commit(before), await repository.commit(after)];
    return createCommitComparison({ reader, schemas })(base, head);
  }

  it("finds new and changed agents by their paths, and leaves the others out", async () => {
    const before = { [at("a.yaml")]: spec("a"), [at("b.yaml")]: spec("b"), "README.md": "1" };
    const after = {
      [at("a.yaml")]: spec("a"),
      [at("b.yaml")]: spec("b", "y"),
      [at("c.yaml")]: spec("c"),
      "README.md": "2",
    };
    const changed = await compare(before, after);
    expect(brief(changed)).toEqual([
      ["ai-sdk/b.yaml", "ai-sdk/b.yaml"],
      ["ai-sdk/c.yaml", undefined],
    ]);
    expect(changed[0]?.base?.spec?.instructions).toBe("x");
    expect(changed[0]?.head.spec?.instructions).toBe("y");
  });

  const [a, b] = [{ [at("a.yaml")]: spec("a") }, { [at("b.yaml")]: spec("b") }];
  it.each<[string, Files, Files, unknown[]]>([
    ["nothing", { ...a, ...b }, { ...a, ...b }, []],
    ["only other files", a, { ...a, "src/a.ts": "x", "agents/README.md": "x" }, []],
    ["an agent that is deleted", { ...a, ...b }, a, []],
    ["the last agent, deleted", a, { "README.md": "x" }, []],
    [
      "an eval file that comes",
      a,
      { ...a, [at("a.eval.yaml")]: evals() },
      [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]],
    ],
    [
      "an eval file that changes",
      { ...a, ...b, [at("a.eval.yaml")]: evals() },
      { ...a, ...b, [at("a.eval.yaml")]: evals("b") },
      [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]],
    ],
    [
      "an eval file that goes",
      { ...a, [at("a.eval.yaml")]: evals() },
      a,
      [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]],
    ],
    ["another ending", a, { [at("a.yml")]: spec("a") }, [["ai-sdk/a.yml", "ai-sdk/a.yaml"]]],
    [
      "another framework",
      a,
      { "agents/graph/a.yaml": spec("a", "x", "graph") },
      [["graph/a.yaml", "ai-sdk/a.yaml"]],
    ],
    ["another name", a, { [at("z.yaml")]: spec("z") }, [["ai-sdk/z.yaml", undefined]]],
    ["a name in another case", a, { [at("A.yaml")]: spec("a") }, [["ai-sdk/A.yaml", undefined]]],
    [
      "a second file with the name",
      { ...a, ...b },
      { ...a, ...b, [at("a.json")]: "{}" },
      [
        ["ai-sdk/a.json", undefined],
        ["ai-sdk/a.yaml", "ai-sdk/a.yaml"],
      ],
    ],
    ["a second file that goes", { ...a, [at("a.json")]: "{}" }, a, [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]]],
    [
      "a file that becomes a link of the same bytes",
      a,
      { [at("a.yaml")]: { symlink: spec("a") } },
      [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]],
    ],
    [
      "a file that grows too large",
      a,
      { [at("a.yaml")]: spec("a", "x".repeat(200_000)) },
      [["ai-sdk/a.yaml", "ai-sdk/a.yaml"]],
    ],
  ])("tells what becomes of agents: %s", async (_, before, after, expected) => {
    expect(brief(await compare(before, after))).toEqual(expected);
  });

  it("finds what deriving both commits as a whole finds", async () => {
    const derive = async (sha: string) =>
      deriveAgents(await readEntries(reader, await reader.tree(sha)), schemas).agents;
    const path = fc
      .tuple(
        fc.constantFrom("ai-sdk", "graph"),
        fc.constantFrom("a", "A", "b", "c"),
        fc.constantFrom(".yaml", ".yml", ".json", ".eval.yaml", ".eval.json", ".txt"),
      )
      .map(([framework, name, ending]) => `agents/${framework}/${name}${ending}`);
    const text = fc.constantFrom(spec("a"), spec("b"), spec("c", "y"), evals(), evals("b"), "{}");
    const content = fc.oneof(
      text,
      text.map((symlink) => ({ symlink })),
    );
    const files = fc.dictionary(path, content, { minKeys: 1, maxKeys: 8, noNullPrototype: true });
    // Most files stay as they are, as in a real change.
    const change = fc.tuple(
      files,
      fc.dictionary(path, fc.option(content), { maxKeys: 3, noNullPrototype: true }),
    );
    await fc.assert(
      fc.asyncProperty(change, async ([before, edits]) => {
        const kept = Object.entries({ ...before, ...edits }).filter(([, file]) => file !== null);
        const after = Object.fromEntries(kept) as Files;
        const [base, head] = [await repository.commit(before), await repository.commit(after)];
        const known = new Map((await derive(base)).map((agent) => [agent.path, agent]));
        const expected = (await derive(head)).filter((agent) => {
          return JSON.stringify(agent) !== JSON.stringify(known.get(agent.path));
        });
        const changed = await createCommitComparison({ reader, schemas })(base, head);
        expect(changed.map((each) => each.head)).toEqual(expected);
        for (const each of changed) {
          const same = known.get(each.head.path);
          if (same !== undefined) expect(each.base).toEqual(same);
          else if (each.base !== undefined) expect(each.base.name).toBe(each.head.name);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("reads two listings and one batch, of the changed agent alone, among thousands", async () => {
    const names = Array.from({ length: 2000 }, (_, n) => `agent-${n}`);
    const before: Files = Object.fromEntries(names.map((name) => [at(`${name}.yaml`), "one text for all"]));
    before[at("agent-7.eval.yaml")] = evals();
    const calls: unknown[] = [];
    const counted = {
      tree: (sha: string) => {
        calls.push("tree");
        return reader.tree(sha);
      },
      blobs: (requests: Parameters<RepositoryReader["blobs"]>[0], most: number) => {
        calls.push(requests.map(({ path }) => path.slice("agents/ai-sdk/".length)).sort());
        return reader.blobs(requests, most);
      },
    };
    const base = await repository.commit(before);
    const head = await repository.commit({ ...before, [at("agent-7.yaml")]: spec("agent-7") });
    const compareCounted = createCommitComparison({ reader: counted, schemas });
    expect(brief(await compareCounted(base, head))).toEqual([["ai-sdk/agent-7.yaml", "ai-sdk/agent-7.yaml"]]);
    const twice = ["agent-7.eval.yaml", "agent-7.eval.yaml", "agent-7.yaml", "agent-7.yaml"];
    expect(calls).toEqual(["tree", "tree", twice]);

    calls.length = 0;
    expect(await compareCounted(head, head)).toEqual([]);
    expect(calls).toEqual([]);
  });

  it("is three calls to GitHub", async () => {
    const github = await startGitHubSimulator(repository);
    onTestFinished(() => github.close());
    const { owner, repo, app } = github;
    const remote = openRepository({ kind: "github", owner, repo, app }).reader;
    const others = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [at(`changed-${n}.yaml`), spec(`changed-${n}`, "x")]),
    );
    const base = await repository.commit({ ...others, [at("same.yaml")]: spec("same") });
    const edited = Object.entries(others).map(([path, text]) => [path, `${text}# edited\n`]);
    const head = await repository.commit({ ...Object.fromEntries(edited), [at("same.yaml")]: spec("same") });
    const changed = await createCommitComparison({ reader: remote, schemas })(base, head);
    expect(changed).toHaveLength(60);
    expect(changed.every(({ head, base }) => head.spec !== undefined && base?.spec !== undefined)).toBe(true);
    const asked = github.calls.filter((call) => !call.includes("installation"));
    expect(asked.map((call) => call.split(" ")[0])).toEqual(["GET", "GET", "POST"]);
  });

  it("of a commit that is not there is no empty one", async () => {
    const head = await repository.commit(a);
    const compareHere = createCommitComparison({ reader, schemas });
    await expect(compareHere("f".repeat(40), head)).rejects.toMatchObject({ name: "RepositoryUnavailable" });
    await expect(compareHere(head, "f".repeat(40))).rejects.toMatchObject({ name: "RepositoryUnavailable" });
  });
});
