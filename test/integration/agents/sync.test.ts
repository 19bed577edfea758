import { rename } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../../src/platform/db/index.ts";
import { type RepositoryReader, RepositoryUnavailable } from "../../../src/repositories/index.ts";
import { addWorkspace, catalogContent, createTestSync } from "../../support/catalog.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { git, hasGit } from "../../support/git-program.ts";
import { createTestRepository, type TestFile, type TestRepository } from "../../support/git-repository.ts";
import { specText } from "../../support/run-requests.ts";

const sidecar = JSON.stringify({ cases: [{ name: "a", input: "b", assert: { equals: "b" } }] });
const three = {
  "agents/ai-sdk/one.yaml": specText("one"),
  "agents/ai-sdk/two.yaml": specText("two"),
  "agents/ai-sdk/two.eval.yaml": sidecar,
  "agents/ai-sdk/three.json": specText("three"),
  "docs/guide.md": "Not of the catalog.",
};

describe.each(databases())("the catalog on %s", (engine) => {
  const database = useDatabase(engine);

  async function setUp(
    files: Readonly<Record<string, TestFile>> = three,
    replace?: (reader: RepositoryReader) => Partial<RepositoryReader>,
  ) {
    const { db } = database;
    const repository = await createTestRepository();
    onTestFinished(repository.remove);
    const workspaceId = await addWorkspace(db);
    const sync = createTestSync(db, repository, workspaceId, replace);
    const first = await repository.commit(files);
    await sync.sync();
    sync.read.length = 0;
    return {
      ...{ db, repository, workspaceId, first, sync },
      agents: () => db.read("agents").orderBy("path"),
      catalog: () => db.read("catalogs").first(),
      /** Each agent's name, followed by what is wrong with it. */
      async summary() {
        const rows = await db.read("agents").orderBy("path");
        return rows.map((row) =>
          [row.name, ...JSON.parse(row.problems).map((each: { message: string }) => each.message)].join(": "),
        );
      },
    };
  }

  describe("reads what has changed", () => {
    it("one file of many", async () => {
      const { repository, sync, agents, first } = await setUp();
      const changed = specText("one", { description: "Changed." });
      const second = await repository.commit({ ...three, "agents/ai-sdk/one.yaml": changed });
      await sync.sync();
      expect(sync.read).toEqual([["agents/ai-sdk/one.yaml"]]);
      expect((await agents()).map((row) => [row.name, row.commit_sha, row.valid])).toEqual([
        ["one", second, 1],
        ["three", first, 1],
        ["two", first, 1],
      ]);
    });

    it("nothing, when only other files have: the catalog still shows the newer commit", async () => {
      const { repository, sync, catalog } = await setUp();
      const second = await repository.commit({ ...three, "docs/guide.md": "Changed." });
      await sync.sync();
      expect(sync.read.flat()).toEqual([]);
      expect(await catalog()).toMatchObject({ commit_sha: second, stale: 0 });
    });

    it("nothing, when there is no newer commit", async () => {
      const { sync, catalog } = await setUp();
      const before = await catalog();
      await sync.sync();
      expect(sync.read).toEqual([]);
      expect(await catalog()).toEqual(before);
    });

    it.skipIf(!hasGit())("nothing, when a file was made executable", async () => {
      const { repository, sync, catalog } = await setUp();
      const path = "agents/ai-sdk/one.yaml";
      const run = (...args: string[]) => git(repository.gitdir, args);
      run("read-tree", "main");
      run("update-index", "--cacheinfo", `100755,${run("rev-parse", `main:${path}`)},${path}`);
      const second = run("commit-tree", "-m", "mode", run("write-tree"));
      await repository.setRef("refs/heads/main", second);
      await sync.sync();
      expect(sync.read.flat()).toEqual([]);
      expect(await catalog()).toMatchObject({ commit_sha: second });
    });
  });

  describe("follows the repository", () => {
    it("a file that goes takes its agent along, but not the spec that runs were made from", async () => {
      const { repository, sync, summary, db } = await setUp();
      const { "agents/ai-sdk/one.yaml": _, ...rest } = three;
      await repository.commit(rest);
      await sync.sync();
      expect(await summary()).toEqual(["three", "two"]);
      expect((await db.read("agent_specs")).length).toBe(3);
      expect(sync.read.flat()).toEqual([]);
    });

    it("a renamed agent is a new one: the old name's last valid spec is not its own", async () => {
      const { repository, sync, summary, agents } = await setUp();
      const { "agents/ai-sdk/one.yaml": text, ...rest } = three;
      await repository.commit({ ...rest, "agents/ai-sdk/uno.yaml": text });
      await sync.sync();
      expect(await summary()).toEqual(["three", "two", expect.stringMatching(/^uno: .*name/)]);
      expect((await agents()).at(-1)).toMatchObject({ valid: 0, last_valid_sha: null });
    });

    it("a spec that breaks keeps the last valid one beside it, over several commits", async () => {
      const { repository, sync, agents } = await setUp();
      const [before] = await agents();
      for (const broken of ["name: [", "name: one\nmodel: 5\n"]) {
        await repository.commit({ ...three, "agents/ai-sdk/one.yaml": broken });
        await sync.sync();
        expect((await agents())[0]).toMatchObject({
          ...{ valid: 0, spec_text: broken, last_valid_sha: before.spec_sha },
        });
      }
    });

    it("a file that becomes a link with the same bytes, and the other way round", async () => {
      const text = specText("one");
      const path = "agents/ai-sdk/one.yaml";
      const { repository, sync, summary } = await setUp({ [path]: text });
      await repository.commit({ [path]: { symlink: text } });
      await sync.sync();
      expect(await summary()).toEqual([expect.stringMatching(/^one: .*symbolic link/)]);
      await repository.commit({ [path]: text });
      await sync.sync();
      expect(await summary()).toEqual(["one"]);
    });

    it("a sidecar that comes and goes, and one that stays behind", async () => {
      const { "agents/ai-sdk/two.eval.yaml": evals, ...without } = three;
      const { repository, sync, agents, catalog } = await setUp(without);
      const two = async () => (await agents()).find((row) => row.name === "two");
      expect(await two()).toMatchObject({ has_evals: 0, eval_text: null });
      await repository.commit(three);
      await sync.sync();
      expect(await two()).toMatchObject({ has_evals: 1, eval_text: evals, valid: 1 });
      const { "agents/ai-sdk/two.yaml": _, ...orphaned } = three;
      await repository.commit(orphaned);
      await sync.sync();
      expect(JSON.parse((await catalog()).problems)).toMatchObject([{ path: "agents/ai-sdk/two.eval.yaml" }]);
      await repository.commit(without);
      await sync.sync();
      expect(await two()).toMatchObject({ has_evals: 0, eval_path: null });
      expect(JSON.parse((await catalog()).problems)).toEqual([]);
    });

    it("two files that claim one name, until one of them goes", async () => {
      const { repository, sync, summary } = await setUp();
      await repository.commit({ ...three, "agents/ai-sdk/one.json": specText("one") });
      await sync.sync();
      expect((await summary()).filter((text) => /^one: .*has the same name/.test(text)).length).toBe(2);
      await repository.commit(three);
      await sync.sync();
      expect(await summary()).toEqual(["one", "three", "two"]);
    });

    it("back to an older commit", async () => {
      const { repository, sync, db, workspaceId, first } = await setUp();
      const before = await catalogContent(db, workspaceId);
      await repository.commit({ "agents/ai-sdk/other.yaml": specText("other") });
      await sync.sync();
      await repository.setRef("refs/heads/main", first);
      await sync.sync();
      expect(await catalogContent(db, workspaceId)).toEqual(before);
    });

    it("into another repository, once that was read", async () => {
      const { db, workspaceId, summary, catalog } = await setUp({
        ...three,
        "agents/x/lost.eval.yaml": sidecar,
      });
      const other = await createTestRepository();
      onTestFinished(other.remove);
      const sync = createTestSync(db, other, workspaceId);
      await sync.sync();
      expect(await summary()).toEqual(["one", "three", "two"]);
      expect(await catalog()).toMatchObject({ stale: 1, error: expect.stringMatching(/no commit/) });
      await other.commit({ "agents/ai-sdk/one.yaml": "broken: [" });
      await sync.sync();
      expect(await summary()).toEqual([expect.stringMatching(/^one: /)]);
      expect(await catalog()).toMatchObject({
        repository: other.gitdir,
        stale: 0,
        error: null,
        problems: "[]",
      });
      expect((await db.read("agents").first()).last_valid_sha).toBeNull();
      expect((await db.read("catalog_files")).length).toBe(1);
    });
  });

  describe("keeps what it had", () => {
    const unreadable: [
      string,
      (repository: TestRepository, sha: string) => Promise<() => Promise<void>>,
      RegExp,
    ][] = [
      [
        "when the repository is moved away",
        async ({ gitdir }) => {
          await rename(gitdir, `${gitdir}-away`);
          return () => rename(`${gitdir}-away`, gitdir);
        },
        /no (Git )?repository|not found|there is no/i,
      ],
      [
        "when the branch is deleted",
        async (repository, sha) => {
          await repository.deleteRef("refs/heads/main");
          return () => repository.setRef("refs/heads/main", sha);
        },
        /no commit on main/,
      ],
    ];
    it.each(unreadable)("%s, and is fresh again when it is back", async (_, away, error) => {
      const { repository, sync, db, workspaceId, catalog, first } = await setUp();
      const before = await catalogContent(db, workspaceId);
      const back = await away(repository, first);
      await sync.sync();
      const stale = await catalogContent(db, workspaceId);
      expect(stale).toEqual({
        ...before,
        catalog: { ...before.catalog, stale: 1, error: expect.stringMatching(error) },
      });
      await back();
      await sync.sync();
      expect(await catalogContent(db, workspaceId)).toEqual(before);
      expect((await catalog()).synced_at).toBeGreaterThan(0);
    });

    const limited = new RepositoryUnavailable("GitHub limits the rate.", "rate_limited", Date.now() + 60_000);
    const faults: [string, keyof RepositoryReader, Error, string][] = [
      [
        "its files are read by half",
        "blobs",
        new RepositoryUnavailable("Half of it.", "incomplete"),
        "Half of it.",
      ],
      ["its tree cannot be read", "tree", new RepositoryUnavailable("No tree.", "incomplete"), "No tree."],
      ["its host limits the rate", "head", limited, "GitHub limits the rate."],
      [
        "the reader has a fault",
        "blobs",
        new TypeError("secret thing"),
        "The catalog could not be synced; an admin finds the cause in the log.",
      ],
    ];
    it.each(faults)("when %s: a newer commit changes nothing", async (_, part, error, text) => {
      let broken = false;
      const { repository, sync, db, workspaceId, catalog } = await setUp(three, (reader) => ({
        async [part](...args: never[]) {
          const answer = await (reader[part] as (...args: never[]) => Promise<unknown>)(...args);
          if (broken) throw error;
          return answer;
        },
      }));
      const before = await catalogContent(db, workspaceId);
      broken = true;
      await repository.commit({
        "agents/ai-sdk/one.yaml": "broken: [",
        "agents/ai-sdk/new.yaml": specText("new"),
      });
      await sync.sync();
      const stale = await catalogContent(db, workspaceId);
      expect(stale).toEqual({ ...before, catalog: { ...before.catalog, stale: 1, error: text } });
      await sync.sync();
      await sync.sync();
      expect(sync.lines.filter((line) => line.includes("catalog is stale")).length).toBe(1);
      broken = false;
      await sync.sync();
      expect(await catalog()).toMatchObject({ stale: 0, error: null });
      expect((await db.read("agents").orderBy("path")).map((row) => row.name)).toEqual(["new", "one"]);
    });

    it("before anything was read, says why there is nothing", async () => {
      const repository = await createTestRepository();
      onTestFinished(repository.remove);
      const sync = createTestSync(database.db, repository, await addWorkspace(database.db));
      await sync.sync();
      expect(await database.db.read("catalogs").first()).toMatchObject({
        ...{ stale: 1, synced_at: null, commit_sha: null, error: expect.stringMatching(/no commit/) },
      });
    });
  });

  describe("with several schedulers", () => {
    it("one that has read an older state does not put it over a newer one", async () => {
      const reached = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      let slow = false;
      const { repository, sync, db, workspaceId, catalog, summary } = await setUp(three, (reader) => ({
        async blobs(requests, maxBytes) {
          const contents = await reader.blobs(requests, maxBytes);
          if (slow) {
            reached.resolve();
            await go.promise;
          }
          return contents;
        },
      }));
      slow = true;
      await repository.commit({ "agents/ai-sdk/middle.yaml": specText("middle") });
      const late = sync.sync();
      await reached.promise;
      const newest = await repository.commit({ "agents/ai-sdk/newest.yaml": specText("newest") });
      await createTestSync(db, repository, workspaceId).sync();
      go.resolve();
      await late;
      expect(await catalog()).toMatchObject({ commit_sha: newest, stale: 0 });
      expect(await summary()).toEqual(["newest"]);
    });

    it("that begin together on an empty database and go on together", async () => {
      const { db, config } = database;
      const repository = await createTestRepository();
      onTestFinished(repository.remove);
      const workspaceId = await addWorkspace(db);
      const others = [openDatabase(config), openDatabase(config), openDatabase(config)];
      // Each has read everything before one of them begins to write.
      const all = Promise.withResolvers<void>();
      let arrived = 0;
      const together = (reader: RepositoryReader) => ({
        async blobs(...request: Parameters<RepositoryReader["blobs"]>) {
          const contents = await reader.blobs(...request);
          if (++arrived === others.length) all.resolve();
          await all.promise;
          return contents;
        },
      });
      const syncs = others.map((other) => createTestSync(other, repository, workspaceId, together));
      await repository.commit(three);
      await Promise.all(syncs.map((each) => each.sync()));
      expect(await db.read("catalogs")).toMatchObject([{ stale: 0, error: null, revision: 1 }]);
      for (let n = 0; n < 5; n++) {
        await repository.commit({
          ...three,
          "agents/ai-sdk/one.yaml": specText("one", { description: `${n}` }),
        });
        await Promise.all(syncs.map((each) => each.sync()));
      }
      const shared = await catalogContent(db, workspaceId);
      const cold = await addWorkspace(db, "cold");
      await createTestSync(db, repository, cold).sync();
      expect(shared).toEqual(await catalogContent(db, cold));
      expect(await db.read("catalogs").where({ workspace_id: workspaceId }).first()).toMatchObject({
        revision: 6,
      });
      for (const { lines } of syncs) expect(lines.join("")).not.toContain("stale");
      for (const other of others) await other.close();
    });
  });
});
