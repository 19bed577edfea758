import { execFile } from "node:child_process";
import { appendFile, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalReader, type RepositoryReader } from "../../../src/repositories/index.ts";
import { git, hasGit } from "../../support/git-program.ts";

const LIMIT = 128 * 1024;
const AGENTS = 60;

/** Long common parts make Git store most of these as deltas of one another. */
const specOf = (index: number, round = 0) =>
  `name: agent-${index}\nround: ${round}\n${"Answer politely, and in one sentence.\n".repeat(40)}end: ${index * 7919}\n`;

async function writeAgents(root: string, round = 0): Promise<void> {
  await mkdir(join(root, "agents/ai-sdk"), { recursive: true });
  for (let index = 0; index < AGENTS; index++) {
    await writeFile(join(root, `agents/ai-sdk/agent-${index}.yaml`), specOf(index, round));
  }
}

/** Reads the whole head as the catalog does: name of file to text. */
async function readAll(reader: RepositoryReader): Promise<Map<string, string>> {
  const tree = await reader.tree(await reader.head());
  const contents = await reader.blobs(tree, LIMIT);
  return new Map(
    tree.map(({ path, blobSha }) => {
      const content = contents.get(blobSha);
      return [path, content && "bytes" in content ? Buffer.from(content.bytes).toString() : ""];
    }),
  );
}

const expected = (round = 0) =>
  new Map(
    Array.from({ length: AGENTS }, (_, index): [string, string] => [
      `agents/ai-sdk/agent-${index}.yaml`,
      specOf(index, round),
    ]).sort(([a], [b]) => (a < b ? -1 : 1)),
  );

describe.skipIf(!hasGit())("local repositories as Git makes them", () => {
  let root: string;
  let work: string;
  const commitAll = (cwd: string, message = "change") => {
    git(cwd, ["add", "-A"]);
    git(cwd, ["commit", "-qm", message]);
    return git(cwd, ["rev-parse", "HEAD"]);
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "rollcall-formats-"));
    work = join(root, "work");
    git(root, ["init", "-q", "-b", "main", "work"]);
    await writeAgents(work);
    commitAll(work);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  describe("objects", () => {
    it.each([
      ["offset deltas", []],
      ["id deltas", ["-c", "repack.useDeltaBaseOffset=false"]],
      ["no deltas", ["-c", "pack.depth=0"]],
    ])("reads packs with %s", async (_, settings) => {
      await writeAgents(work, 1);
      commitAll(work);
      git(work, [...settings, "gc", "-q", "--aggressive", "--prune=now"]);
      expect(await readAll(createLocalReader({ path: work }))).toEqual(expected(1));
    });

    it("reads loose objects beside several packs", async () => {
      for (const round of [1, 2]) {
        git(work, ["repack", "-dq"]);
        await writeFile(join(work, "agents/ai-sdk/agent-0.yaml"), specOf(0, round));
        commitAll(work);
      }
      const texts = await readAll(createLocalReader({ path: work }));
      expect(texts).toEqual(expected().set("agents/ai-sdk/agent-0.yaml", specOf(0, 2)));
    });

    it("misses nothing while Git packs the objects anew", async () => {
      const reader = createLocalReader({ path: work });
      for (let round = 0; round < 12; round++) {
        let packing = true;
        // Another compression gives the pack another name, so that the one being read goes away.
        const settings = ["-c", `pack.compression=${round % 9}`];
        const repack = promisify(execFile)("git", [...settings, "repack", "-adFq"], { cwd: work }).finally(
          () => {
            packing = false;
          },
        );
        const readOn = async () => {
          while (packing) expect(await readAll(reader)).toEqual(expected());
        };
        await Promise.all([repack, readOn(), readOn(), readOn(), readOn()]);
      }
    });

    it("reads what a repository borrows from another, also over two steps and relative paths", async () => {
      git(root, ["clone", "-q", "--shared", "work", "second"]);
      git(root, ["clone", "-q", "--shared", "--bare", "second", "third.git"]);
      expect(await readAll(createLocalReader({ path: join(root, "second") }))).toEqual(expected());
      expect(await readAll(createLocalReader({ path: join(root, "third.git") }))).toEqual(expected());
      await writeFile(
        join(root, "second/.git/objects/info/alternates"),
        "# borrowed\n../../../work/.git/objects\n",
      );
      expect(await readAll(createLocalReader({ path: join(root, "second") }))).toEqual(expected());
      await rm(work, { recursive: true });
      await expect(readAll(createLocalReader({ path: join(root, "second") }))).rejects.toMatchObject({
        reason: "incomplete",
      });
    });

    it("reads shallow clones", async () => {
      await writeAgents(work, 1);
      commitAll(work);
      git(root, ["clone", "-q", "--depth", "1", `file://${work}`, "shallow"]);
      expect(await readAll(createLocalReader({ path: join(root, "shallow") }))).toEqual(expected(1));
    });

    it.each([["loose"], ["packed"]])("refuses a large %s file without reading it", async (form) => {
      await writeFile(join(work, "agents/zeros.yaml"), Buffer.alloc(20_000_000));
      commitAll(work);
      if (form === "packed") git(work, ["gc", "-q"]);
      const reader = createLocalReader({ path: work });
      const tree = await reader.tree(await reader.head());
      const zeros = tree.find(({ path }) => path === "agents/zeros.yaml");
      const contents = await reader.blobs(tree, LIMIT);
      expect(contents.get(zeros?.blobSha ?? "")).toEqual({ tooLarge: true });
      expect([...contents.values()].filter((content) => "bytes" in content)).toHaveLength(AGENTS);
    });

    it.each([
      ["overwritten", (file: string) => writeFile(file, "not zlib at all")],
      ["empty", (file: string) => writeFile(file, "")],
      ["absent", (file: string) => rm(file)],
    ])("reports an %s loose object and gives no part of the repository", async (_, damage) => {
      const id = git(work, ["rev-parse", "HEAD:agents/ai-sdk/agent-7.yaml"]);
      const file = join(work, ".git/objects", id.slice(0, 2), id.slice(2));
      await rm(file, { force: true });
      await writeFile(file, "");
      await damage(file);
      await expect(readAll(createLocalReader({ path: work }))).rejects.toMatchObject({
        name: "RepositoryUnavailable",
        reason: "incomplete",
        message: expect.stringContaining("git fsck"),
      });
    });

    it("never passes off one object's content as another's", async () => {
      const [one, other] = [3, 4].map((n) => git(work, ["rev-parse", `HEAD:agents/ai-sdk/agent-${n}.yaml`]));
      const fileOf = (id = "") => join(work, ".git/objects", id.slice(0, 2), id.slice(2));
      await rm(fileOf(one), { force: true });
      await copyFile(fileOf(other), fileOf(one));
      await expect(readAll(createLocalReader({ path: work }))).rejects.toMatchObject({
        reason: "incomplete",
      });
    });

    it("reports a pack that was cut off", async () => {
      git(work, ["gc", "-q", "--prune=now"]);
      const folder = join(work, ".git/objects/pack");
      const [pack = ""] = (await readdir(folder)).filter((name) => name.endsWith(".pack"));
      await rm(join(folder, pack), { force: true });
      await writeFile(join(folder, pack), "PACK");
      await expect(readAll(createLocalReader({ path: work }))).rejects.toMatchObject({
        reason: "incomplete",
      });
    });
  });

  describe("trees", () => {
    it("keeps odd names and modes apart, each one entry of its own", async () => {
      const blob = git(work, ["hash-object", "-w", "--stdin"], "odd");
      const line = (mode: string, name: Buffer) =>
        Buffer.concat([Buffer.from(`${mode} blob ${blob}\t`), name, Buffer.of(0)]);
      const names = [
        Buffer.of(0x61, 0xe9),
        Buffer.of(0x61, 0xff),
        Buffer.from("back\\slash"),
        Buffer.from("tab\t"),
      ];
      const lines = [
        line("100664", Buffer.from("old-mode.yaml")),
        ...names.map((name) => line("100644", name)),
      ];
      const agents = git(work, ["mktree", "-z"], Buffer.concat(lines));
      const tree = git(work, ["mktree"], `040000 tree ${agents}\tagents\n`);
      const reader = createLocalReader({ path: work });
      const entries = await reader.tree(git(work, ["commit-tree", tree, "-m", "odd"]));
      expect(entries.map(({ path, kind }) => [path, kind])).toEqual(
        ["a\\351", "a\\377", "back\\slash", "old-mode.yaml", "tab\t"].map((name) => [
          `agents/${name}`,
          "file",
        ]),
      );
    });

    it("takes a commit without files for what it is", async () => {
      // Git knows the id of the empty folder without an object of that id.
      const sha = git(work, ["commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "start"]);
      expect(await createLocalReader({ path: work }).tree(sha)).toEqual([]);
    });
  });

  describe("places", () => {
    it("accepts a work tree, its .git directory, a bare clone and a linked work tree", async () => {
      git(root, ["clone", "-q", "--bare", "work", "bare.git"]);
      git(work, ["worktree", "add", "-q", "-b", "side", join(root, "linked")]);
      await writeFile(join(root, "linked/agents/ai-sdk/agent-0.yaml"), "side");
      const side = commitAll(join(root, "linked"));
      const main = git(work, ["rev-parse", "main"]);
      for (const path of [work, join(work, ".git"), join(root, "bare.git")]) {
        const reader = createLocalReader({ path });
        expect(await reader.head(), path).toBe(main);
        expect(await readAll(reader), path).toEqual(expected());
      }
      const linked = createLocalReader({ path: join(root, "linked") });
      expect(await linked.head()).toBe(side);
      expect(linked.branch()).toBe("side");
      expect((await readAll(linked)).get("agents/ai-sdk/agent-0.yaml")).toBe("side");
      expect(await createLocalReader({ path: join(root, "linked"), branch: "main" }).head()).toBe(main);
    });

    it("accepts a submodule, whose .git file holds a relative path", async () => {
      const outer = join(root, "outer");
      git(root, ["init", "-q", "-b", "main", "outer"]);
      git(outer, ["-c", "protocol.file.allow=always", "submodule", "add", "-q", work, "nested"]);
      expect(await readAll(createLocalReader({ path: join(outer, "nested") }))).toEqual(expected());
    });

    it.each([
      ["nothing", "nowhere"],
      ["a folder inside a repository", "work/agents"],
      ["a file", "work/agents/ai-sdk/agent-0.yaml"],
    ])("says that %s is no repository", async (_, path) => {
      await expect(createLocalReader({ path: join(root, path) }).head()).rejects.toMatchObject({
        reason: "not_found",
        message: expect.stringContaining("no Git repository"),
      });
    });

    it("reports a repository that was removed, and reads it again when it is back", async () => {
      const reader = createLocalReader({ path: work });
      const sha = await reader.head();
      git(root, ["clone", "-q", "--bare", "work", "kept.git"]);
      await rm(work, { recursive: true });
      await expect(reader.head()).rejects.toMatchObject({ reason: "not_found" });
      await expect(reader.tree(sha)).rejects.toMatchObject({ reason: "not_found" });
      git(root, ["clone", "-q", "kept.git", "work"]);
      expect(await reader.head()).toBe(sha);
      expect(await readAll(reader)).toEqual(expected());
    });

    it.each([
      ["SHA-256", "\tobjectformat = sha256"],
      ["reftable", "\trefStorage = reftable"],
    ])("refuses a repository with %s by name", async (name, setting) => {
      await appendFile(join(work, ".git/config"), `[extensions]\n${setting}\n`);
      await expect(createLocalReader({ path: work }).head()).rejects.toMatchObject({
        message: expect.stringContaining(name),
      });
    });
  });

  describe("refs", () => {
    it("sees a branch move through loose and packed refs", async () => {
      const reader = createLocalReader({ path: work, branch: "main" });
      const first = await reader.head();
      git(work, ["pack-refs", "--all", "--prune"]);
      expect(await reader.head()).toBe(first);
      await writeAgents(work, 1);
      const second = commitAll(work);
      expect(await reader.head()).toBe(second);
      git(work, ["pack-refs", "--all", "--prune"]);
      expect(await reader.head()).toBe(second);
      git(work, ["update-ref", "refs/heads/main", first]);
      git(work, ["pack-refs", "--all", "--prune"]);
      expect(await reader.head()).toBe(first);
    });

    it("follows a checkout, a detached HEAD and a symbolic branch", async () => {
      const reader = createLocalReader({ path: work });
      const first = await reader.head();
      git(work, ["switch", "-qc", "feature/x"]);
      await writeAgents(work, 1);
      const second = commitAll(work);
      expect([await reader.head(), reader.branch()]).toEqual([second, "feature/x"]);
      git(work, ["checkout", "-q", "--detach", first]);
      expect([await reader.head(), reader.branch()]).toEqual([first, undefined]);
      git(work, ["symbolic-ref", "refs/heads/alias", "refs/heads/feature/x"]);
      expect(await createLocalReader({ path: work, branch: "alias" }).head()).toBe(second);
    });

    it.each([["../../HEAD"], ["../tags/v1"], ["/etc/passwd"], [""], ["a..b"], ["main/"], ["ma*n"]])(
      "does not leave refs/heads for a branch called %j",
      async (branch) => {
        git(work, ["tag", "v1"]);
        await expect(createLocalReader({ path: work, branch }).head()).rejects.toMatchObject({
          reason: "not_found",
        });
      },
    );

    it("reports a ref file that was cut off", async () => {
      await writeFile(join(work, ".git/refs/heads/main"), "");
      await expect(createLocalReader({ path: work }).head()).rejects.toMatchObject({ reason: "incomplete" });
    });
  });
});
