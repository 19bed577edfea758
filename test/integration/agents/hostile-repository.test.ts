import { describe, expect, it, onTestFinished } from "vitest";
import { addWorkspace, createTestSync } from "../../support/catalog.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { createTestRepository, type TestFile } from "../../support/git-repository.ts";
import { specText } from "../../support/run-requests.ts";

const levels = "abcdefghi".split("");
const laughs = levels.map(
  (key, level) => `${key}: &${key} [${Array(9).fill(level === 0 ? "ha" : `*${levels[level - 1]}`)}]`,
);

/** Files that mean harm, and what is said of them. */
const hostile: Record<string, [TestFile, RegExp]> = {
  "alias-bomb": [`name: alias-bomb\n${laughs.join("\n")}\n`, /^Anchors are not used/],
  "deep-nesting": [`instructions: ${"[".repeat(5_000)}`, /nested/],
  "fifty-megabytes": [new Uint8Array(50 * 1024 * 1024), /over 128 KiB/],
  "just-too-large": [specText("just-too-large", { instructions: "x".repeat(128 * 1024) }), /over 128 KiB/],
  link: [{ symlink: "../../../../etc/passwd" }, /symbolic link/],
  "link-inside": [{ symlink: "innocent.yaml" }, /symbolic link/],
  submodule: [{ submodule: "1".repeat(40) }, /submodule/],
  "nul-byte": [`${specText("nul-byte")}\u0000`, /control character U\+0000/],
  "not-utf-8": [Uint8Array.of(0x6e, 0x61, 0xff, 0xfe), /UTF-8/],
  empty: ["", /is empty/],
  "duplicate-keys": ["name: duplicate-keys\nname: other\n", /there twice/],
  "dead-anchor": ["name: *nowhere\n", /^Aliases are not used/],
  prototype: ['__proto__: {"valid": true}\nname: prototype\n', /__proto__/],
  "two-documents": [`${specText("two-documents")}\n---\nname: second\n`, /several documents/],
  tag: ["name: !!js/function 'x'\n", /^Tags are not used/],
};

describe.each(databases())("a repository that means harm, on %s", (engine) => {
  const database = useDatabase(engine);

  async function synced(files: Readonly<Record<string, TestFile>>) {
    const { db } = database;
    const repository = await createTestRepository();
    onTestFinished(repository.remove);
    await repository.commit(files);
    const sync = createTestSync(db, repository, await addWorkspace(db));
    await sync.sync();
    expect(await db.read("catalogs").first()).toMatchObject({ stale: 0, error: null });
    const rows = await db.read("agents").orderBy("path");
    return { sync, agents: new Map(rows.map((row) => [row.name, row])) };
  }

  it("each file's problem is its own; the innocent agent runs", async () => {
    const { agents, sync } = await synced({
      ...Object.fromEntries(
        Object.entries(hostile).map(([name, [file]]) => [`agents/ai-sdk/${name}.yaml`, file]),
      ),
      "agents/ai-sdk/innocent.yaml": specText("innocent"),
      "agents/ai-sdk/innocent.eval.yaml": laughs.join("\n"),
      "agents/ai-sdk/deeper/down.yaml": specText("down"),
      "agents/ai-sdk/bad\u0007name.yaml": specText("x"),
      "agents/link": { symlink: "/etc" },
    });
    expect(agents.get("innocent")).toMatchObject({ valid: 1, problems: "[]", has_evals: 1 });
    for (const [name, [, words]] of Object.entries(hostile)) {
      const row = agents.get(name);
      const [problem] = JSON.parse(row.problems);
      expect({ name, valid: row.valid, message: problem.message }).toEqual({
        ...{ name, valid: 0, message: expect.stringMatching(words) },
      });
      expect({ name, line: problem.line, column: problem.column }).toEqual({
        ...{ name, line: expect.any(Number), column: expect.any(Number) },
      });
    }
    expect(agents.size).toBe(Object.keys(hostile).length + 1);
    // What is no file is not even asked for.
    expect(sync.read.flat()).not.toContain("agents/ai-sdk/link.yaml");
  });

  it("hundreds of files at their largest fit into what the server takes at once", async () => {
    const quotes = "'\\\n\u0001".repeat(32 * 1024);
    const { agents } = await synced({
      ...Object.fromEntries(
        Array.from({ length: 180 }, (_, n) => [
          `agents/ai-sdk/large-${n}.yaml`,
          specText(`large-${n}`, { instructions: `${n}${"x".repeat(99_000)}` }),
        ]),
      ),
      ...Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`agents/ai-sdk/broken-${n}.yaml`, quotes.slice(n, 128 * 1024)]),
      ),
    });
    expect(agents.size).toBe(240);
    expect([...agents.values()].filter((row) => row.valid === 1).length).toBe(180);
  });
});
