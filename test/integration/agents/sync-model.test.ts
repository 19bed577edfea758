import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { addWorkspace, catalogContent, createTestSync } from "../../support/catalog.ts";
import { useDatabase } from "../../support/databases.ts";
import { createTestRepository, type TestFile } from "../../support/git-repository.ts";
import { specText } from "../../support/run-requests.ts";

const sidecar = JSON.stringify({ cases: [{ name: "a", input: "b", assert: { equals: "b" } }] });
const names = ["one", "two", "One", "zwölf"];
const paths = [
  ...names.flatMap((name) => [
    `ai-sdk/${name}.yaml`,
    `ai-sdk/${name}.json`,
    `other/${name}.yaml`,
    `ai-sdk/${name}.eval.yaml`,
  ]),
  "other/one.eval.json",
  "deeper/down/one.yaml",
  "README.md",
].map((path) => `agents/${path}`);

/** The same few contents everywhere: equal bytes under several paths are what a mirror could mix up. */
const contents: TestFile[] = [
  ...names.map((name) => specText(name)),
  specText("one", { description: "Another." }),
  "name: [",
  sidecar,
  { symlink: specText("one") },
  { symlink: "two.yaml" },
];

const change = fc.record({
  path: fc.constantFrom(...paths),
  file: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...contents) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
});
/** Commits, each with whether the catalog is synced after it. */
const history = fc.array(
  fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 6 }), synced: fc.boolean() }),
  {
    minLength: 1,
    maxLength: 8,
  },
);

const database = useDatabase("sqlite");

it("commit by commit, the catalog becomes what one sync of the last commit makes it", async () => {
  const { db } = database;
  const repository = await createTestRepository();
  onTestFinished(repository.remove);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(history, async (commits) => {
      const step = await addWorkspace(db, `step-${++count}`);
      const cold = await addWorkspace(db, `cold-${count}`);
      const sync = createTestSync(db, repository, step);
      const files = new Map<string, TestFile>();
      for (const { changes, synced } of commits) {
        for (const { path, file } of changes) {
          if (file === null) files.delete(path);
          else files.set(path, file);
        }
        await repository.commit(Object.fromEntries(files));
        if (synced) await sync.sync();
      }
      await sync.sync();
      await createTestSync(db, repository, cold).sync();
      expect(await catalogContent(db, step)).toEqual(await catalogContent(db, cold));
    }),
    { numRuns: 30 },
  );
});
