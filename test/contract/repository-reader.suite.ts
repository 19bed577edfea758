import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RepositoryReader } from "../../src/repositories/index.ts";
import { objectId } from "../../src/repositories/object-id.ts";
import { createTestRepository, type TestRepository } from "../support/git-repository.ts";

/** How a kind of reader is opened on a test repository. Called once a test; `close` undoes it. */
export interface ReaderHarness {
  open(branch?: string): RepositoryReader;
  /** Makes another branch the one that is served when none is configured. */
  serve(branch: string): Promise<void>;
  close(): Promise<void>;
}

const LIMIT = 1024;
const text = (content: Uint8Array | undefined) => content && Buffer.from(content).toString("utf8");
const idOf = (content: string) => objectId("blob", Buffer.from(content));

/** What every RepositoryReader does alike, whoever keeps the repository. */
export function describeRepositoryReader(
  name: string,
  createHarness: (repository: TestRepository) => Promise<ReaderHarness>,
): void {
  describe(`repository reader: ${name}`, () => {
    let repository: TestRepository;
    let harness: ReaderHarness;

    beforeEach(async () => {
      repository = await createTestRepository();
      harness = await createHarness(repository);
    });
    afterEach(async () => {
      await harness.close();
      await repository.remove();
    });

    describe("head", () => {
      it("follows the served branch from commit to commit", async () => {
        const reader = harness.open();
        const first = await repository.commit({ "agents/a.yaml": "1" });
        expect(await reader.head()).toBe(first);
        expect(await reader.head()).toBe(first);
        expect(reader.branch()).toBe("main");
        const second = await repository.commit({ "agents/a.yaml": "2" });
        expect(await reader.head()).toBe(second);
      });

      it("finds a branch by its whole name, not by a tag, a remote branch or a longer name", async () => {
        const served = await repository.commit({ "agents/a.yaml": "served" }, "release/1.x");
        const other = await repository.commit({ "agents/a.yaml": "other" }, "release/1.x-next");
        await repository.setRef("refs/tags/release/1.x", other);
        await repository.setRef("refs/remotes/origin/release/1.x", other);
        expect(await harness.open("release/1.x").head()).toBe(served);
        await repository.setRef("refs/tags/v2", other);
        await expect(harness.open("v2").head()).rejects.toMatchObject({ reason: "not_found" });
        await expect(harness.open("release/1").head()).rejects.toMatchObject({ reason: "not_found" });
      });

      it("says what to do about a missing branch, and finds it once it is there", async () => {
        await repository.commit({ "agents/a.yaml": "1" });
        const reader = harness.open("agents");
        await expect(reader.head()).rejects.toMatchObject({
          name: "RepositoryUnavailable",
          reason: "not_found",
          message: expect.stringContaining('no branch "agents"'),
        });
        const sha = await repository.commit({ "agents/a.yaml": "2" }, "agents");
        expect(await reader.head()).toBe(sha);
      });

      it("asks for a first commit in an empty repository", async () => {
        await expect(harness.open().head()).rejects.toMatchObject({
          reason: "not_found",
          message: expect.stringContaining("no commit"),
        });
      });

      it("notices that the default branch was renamed", async () => {
        const reader = harness.open();
        await repository.commit({ "agents/a.yaml": "1" });
        await reader.head();
        const renamed = await repository.commit({ "agents/a.yaml": "2" }, "trunk");
        await harness.serve("trunk");
        await repository.deleteRef("refs/heads/main");
        expect(await reader.head()).toBe(renamed);
        expect(reader.branch()).toBe("trunk");
      });
    });

    describe("tree", () => {
      it("lists what is below agents/ only, sorted by path, each by its kind", async () => {
        const submodule = "1".repeat(40);
        const sha = await repository.commit({
          "README.md": "outside",
          "other/agents/x.yaml": "outside",
          "agents-old/x.yaml": "outside",
          "agents/b/two.yaml": "two",
          "agents/b.yaml": "dot sorts before slash",
          "agents/a/deep/er/one.yaml": "one",
          "agents/a/ünï cødé 🙂.yaml": "names",
          "agents/link.yaml": { symlink: "../README.md" },
          "agents/vendored": { submodule },
        });
        const tree = await harness.open().tree(sha);
        expect(tree.map(({ path, kind, blobSha }) => [path, kind, blobSha])).toEqual([
          ["agents/a/deep/er/one.yaml", "file", idOf("one")],
          ["agents/a/ünï cødé 🙂.yaml", "file", idOf("names")],
          ["agents/b.yaml", "file", idOf("dot sorts before slash")],
          ["agents/b/two.yaml", "file", idOf("two")],
          ["agents/link.yaml", "symlink", idOf("../README.md")],
          ["agents/vendored", "submodule", submodule],
        ]);
        expect(tree.every(({ size, blobSha }) => size === null || (size > 0 && blobSha !== ""))).toBe(true);
      });

      it("is empty without agents/, and where agents is a file or a link", async () => {
        const reader = harness.open();
        expect(await reader.tree(await repository.commit({ "README.md": "x" }))).toEqual([]);
        expect(await reader.tree(await repository.commit({ agents: "a file" }))).toEqual([]);
        expect(await reader.tree(await repository.commit({ agents: { symlink: "elsewhere" } }))).toEqual([]);
      });

      it("never takes an unknown commit for an empty one", async () => {
        await repository.commit({ "agents/a.yaml": "1" });
        await expect(harness.open().tree("f".repeat(40))).rejects.toMatchObject({ reason: "incomplete" });
      });
    });

    describe("blobs", () => {
      const files: Record<string, string | Uint8Array> = {
        "agents/plain.yaml": "name: plain\r\n",
        "agents/empty.yaml": "",
        "agents/mark.yaml": "\uFEFFname: mark\n",
        "agents/wide.yaml": "text: “ünï” 🙂 \u2028 \uFFFD\n",
        "agents/latin.yaml": Uint8Array.of(0x6e, 0xe9, 0xff, 0x0a),
        "agents/binary.yaml": Uint8Array.of(0, 1, 2, 253, 254, 255),
        "agents/limit.yaml": "x".repeat(LIMIT),
        "agents/over.yaml": "x".repeat(LIMIT + 1),
        "agents/huge.yaml": "y".repeat(700_000),
      };

      it("gives the exact bytes of every file, and no content over the limit", async () => {
        const reader = harness.open();
        const tree = await reader.tree(await repository.commit(files));
        const contents = await reader.blobs(tree, LIMIT);
        for (const { path, blobSha } of tree) {
          const expected = Buffer.from(files[path] ?? "absent");
          const content = contents.get(blobSha);
          if (expected.length > LIMIT) expect(content, path).toEqual({ tooLarge: true });
          else expect(content && "bytes" in content && Buffer.from(content.bytes), path).toEqual(expected);
        }
      });

      it("does so without having listed the tree, for content of any length within the limit", async () => {
        await repository.commit(files);
        const requests = ["agents/huge.yaml", "agents/plain.yaml"].map((path) => ({
          path,
          blobSha: idOf(String(files[path])),
        }));
        const contents = await harness.open().blobs(requests, 1_000_000);
        for (const { path, blobSha } of requests) {
          const content = contents.get(blobSha);
          expect(content && "bytes" in content && text(content.bytes), path).toBe(files[path]);
        }
        const limited = await harness.open().blobs(requests, LIMIT);
        expect([...limited.values()].filter((content) => "tooLarge" in content)).toHaveLength(1);
      });

      it("answers two paths with the same content once, and no request with nothing", async () => {
        const reader = harness.open();
        const tree = await reader.tree(await repository.commit({ "agents/a": "same", "agents/b": "same" }));
        expect(tree).toHaveLength(2);
        expect([...(await reader.blobs(tree, LIMIT)).keys()]).toEqual([idOf("same")]);
        expect((await reader.blobs([], LIMIT)).size).toBe(0);
      });

      it("reads all or nothing", async () => {
        await repository.commit({ "agents/a.yaml": "here" });
        const requests = [idOf("here"), idOf("not here")].map((blobSha) => ({
          path: "agents/a.yaml",
          blobSha,
        }));
        await expect(harness.open().blobs(requests, LIMIT)).rejects.toMatchObject({ reason: "incomplete" });
        await expect(harness.open().blobs(requests.slice(1), LIMIT)).rejects.toMatchObject({
          reason: "incomplete",
        });
      });
    });

    describe("file", () => {
      it("reads a regular file of any folder at a commit", async () => {
        const reader = harness.open();
        const old = await repository.commit({ "README.md": "old", "docs/a/guide #1?.md": "guide" });
        const now = await repository.commit({ "README.md": "new" });
        expect(text(await reader.file(old, "README.md", LIMIT))).toBe("old");
        expect(text(await reader.file(now, "README.md", LIMIT))).toBe("new");
        expect(text(await reader.file(old, "docs/a/guide #1?.md", LIMIT))).toBe("guide");
        expect(await reader.file(now, "docs/a/guide #1?.md", LIMIT)).toBeUndefined();
      });

      it("has nothing for folders, links, submodules, long files and paths that are none", async () => {
        const reader = harness.open();
        const sha = await repository.commit({
          "docs/guide.md": "guide",
          "long.md": "x".repeat(LIMIT + 1),
          "link.md": { symlink: "docs/guide.md" },
          linked: { symlink: "docs" },
          module: { submodule: "1".repeat(40) },
        });
        const none = [
          "docs",
          "long.md",
          "link.md",
          "linked/guide.md",
          "module",
          "module/x",
          "docs/guide.md/x",
        ];
        const odd = [
          "",
          "/",
          "/docs/guide.md",
          "docs/",
          "docs//guide.md",
          "docs/../docs/guide.md",
          "\ud800.md",
        ];
        for (const path of [...none, ...odd]) {
          expect(await reader.file(sha, path, LIMIT), JSON.stringify(path)).toBeUndefined();
        }
      });

      it("tells a missing commit from a missing file", async () => {
        await repository.commit({ "README.md": "x" });
        await expect(harness.open().file("f".repeat(40), "README.md", LIMIT)).rejects.toMatchObject({
          reason: "incomplete",
        });
      });
    });
  });
}
