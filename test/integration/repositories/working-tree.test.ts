import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createSampleRepository,
  openRepository,
  RepositoryUnavailable,
} from "../../../src/repositories/index.ts";
import { git, hasGit } from "../../support/git-program.ts";

const spec = "agents/ai-sdk/a.yaml";
const commitProcess = join(import.meta.dirname, "../../support/commit-process.ts");
const fresh = "agents/langgraph/deep/new.yaml";

function setUp() {
  const home = mkdtempSync(join(tmpdir(), "rollcall-tree-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const work = join(home, "work");
  git(home, ["init", "-q", "-b", "main", "work"]);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  };
  for (const path of [spec, "agents/ai-sdk/b.yaml", "agents/ai-sdk.md", "README.md", "run.sh"])
    write(path, `old ${path}`);
  chmodSync(join(work, "run.sh"), 0o755);
  git(work, ["add", "."]);
  git(work, ["commit", "-qm", "first"]);
  const baseSha = git(work, ["rev-parse", "HEAD"]);
  const { writer } = openRepository({ kind: "local", path: work });
  const change = (...files: [string, string][]) => ({
    baseSha,
    files: (files.length === 0 ? [[spec, "new"] as const] : files).map(([path, text]) => ({ path, text })),
    message: "Change a\n",
  });
  return { home, work, write, baseSha, writer, change, ...looksAt(work) };
}

function looksAt(work: string) {
  return {
    status: () => git(work, ["status", "--porcelain", "--untracked-files=all"]),
    read: (path: string) => readFileSync(join(work, path), "utf8"),
    head: () => git(work, ["rev-parse", "HEAD"]),
    /** Nothing of ours lies about, and Git can go on. */
    isTidy() {
      const left = [join(work, ".git"), join(work, "agents", "ai-sdk")].flatMap((folder) =>
        readdirSync(folder).filter((name) => /lock|rollcall-new/.test(name)),
      );
      expect(left).toEqual([]);
      expect(git(work, ["fsck", "--strict", "--full"])).not.toMatch(/error|warning/);
    },
  };
}

describe.skipIf(!hasGit())("a commit to a branch that a working tree shows", () => {
  it("is in the tree and the index at once, and Git finds nothing changed", async () => {
    const { writer, change, status, read, head, isTidy, baseSha, work } = setUp();
    const written = await writer.commit(change([spec, "new"], [fresh, "fresh"]));
    expect(written).toEqual({ commitSha: head(), url: undefined });
    expect([status(), read(spec), read(fresh)]).toEqual(["", "new", "fresh"]);
    expect(git(work, ["log", "--format=%P", "-1"])).toBe(baseSha);
    expect(git(work, ["diff", "--name-status", baseSha, "HEAD"])).toBe(`M\t${spec}\nA\t${fresh}`);
    isTidy();
    expect(await writer.commit(change([spec, "new"], [fresh, "fresh"]))).toEqual(written);
    git(work, ["commit", "-q", "--allow-empty", "-m", "Git goes on"]);
    expect(status()).toBe("");
  });

  it("works in the sample repository as it is made", async () => {
    const home = mkdtempSync(join(tmpdir(), "rollcall-sample-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const work = join(home, "agents");
    await createSampleRepository(work, join(import.meta.dirname, "../../../examples/agents-repository"));
    const { reader, writer } = openRepository({ kind: "local", path: work });
    const files = [{ path: "agents/ai-sdk/hello.yaml", text: "new" }];
    expect(await writer.commit({ baseSha: await reader.head(), files, message: "m" })).toEqual({
      commitSha: git(work, ["rev-parse", "HEAD"]),
      url: undefined,
    });
    expect(git(work, ["status", "--porcelain"])).toBe("");
    expect(git(work, ["show", "--name-only", "--format=", "HEAD"])).toBe("agents/ai-sdk/hello.yaml");
  });

  it("leaves alone what people are doing elsewhere in the tree, and modes of the file itself", async () => {
    const { writer, change, write, status, work, isTidy } = setUp();
    write("README.md", "being written");
    write("agents/ai-sdk/b.yaml", "staged");
    git(work, ["add", "agents/ai-sdk/b.yaml"]);
    write("agents/ai-sdk/notes.txt", "untracked");
    chmodSync(join(work, spec), 0o755);
    git(work, ["add", spec]);
    const before = status();
    expect(await writer.commit(change())).toHaveProperty("commitSha");
    expect(status()).toBe(before);
    expect(statSync(join(work, spec)).mode & 0o100).toBe(0o100);
    isTidy();
  });

  type World = ReturnType<typeof setUp>;
  const busy = (name: string) => (world: World) => writeFileSync(join(world.work, ".git", name), "");
  it.each<[string, (world: World) => void, RegExp, [string, string][]?]>([
    ["a file that was changed", ({ write }) => write(spec, "mine"), /a\.yaml has changes/],
    ["a file that was removed", ({ work }) => rmSync(join(work, spec)), /a\.yaml has changes/],
    [
      "a file whose change is staged",
      ({ write, work }) => {
        write(spec, "mine");
        git(work, ["add", spec]);
        write(spec, `old ${spec}`);
      },
      /a\.yaml has changes/,
    ],
    [
      "a file that was taken out of the index",
      ({ work }) => git(work, ["rm", "-q", "--cached", spec]),
      /a\.yaml has changes/,
    ],
    [
      "an untracked file in the place of a new one",
      ({ write }) => write(fresh, "mine"),
      /new\.yaml has changes/,
      [[fresh, "x"]],
    ],
    [
      "a new file that is staged",
      ({ write, work }) => {
        write(fresh, "mine");
        git(work, ["add", fresh]);
      },
      /new\.yaml has changes/,
      [[fresh, "x"]],
    ],
    [
      "an untracked file in the place of a folder",
      ({ write }) => write("agents/langgraph", "mine"),
      /new\.yaml has changes/,
      [[fresh, "x"]],
    ],
    [
      "a staged file in the place of a folder",
      ({ write, work }) => {
        write("agents/langgraph", "mine");
        git(work, ["add", "agents/langgraph"]);
      },
      /agents\/langgraph has changes/,
      [[fresh, "x"]],
    ],
    [
      "a folder in the place of a new file",
      ({ work }) => mkdirSync(join(work, fresh), { recursive: true }),
      /new\.yaml has changes/,
      [[fresh, "x"]],
    ],
    [
      "a link in the place of the file",
      ({ work, home }) => {
        writeFileSync(join(home, "outside"), `old ${spec}`);
        rmSync(join(work, spec));
        symlinkSync(join(home, "outside"), join(work, spec));
      },
      /a\.yaml has changes/,
    ],
    [
      "a link in the place of a folder",
      ({ work, home }) => {
        renameSync(join(work, "agents"), join(home, "agents"));
        symlinkSync(join(home, "agents"), join(work, "agents"));
      },
      /a\.yaml has changes/,
    ],
    ["a merge", busy("MERGE_HEAD"), /a merge is under way/],
    ["a cherry-pick", busy("CHERRY_PICK_HEAD"), /a cherry-pick is under way/],
    ["a revert", busy("REVERT_HEAD"), /a revert is under way/],
    [
      "a rebase of the branch, which leaves it",
      ({ work }) => {
        git(work, ["checkout", "-q", "-b", "base"]);
        git(work, ["commit", "-q", "--allow-empty", "-m", "other"]);
        git(work, ["checkout", "-q", "main"]);
        writeFileSync(join(work, "run.sh"), "mine");
        git(work, ["commit", "-qam", "mine"]);
        expect(() => git(work, ["rebase", "-q", "--exec", "false", "base"])).toThrow();
      },
      /a rebase is under way/,
    ],
    ["an index of version 4", ({ work }) => git(work, ["update-index", "--index-version", "4"]), /version 4/],
    [
      "an index of version 3",
      ({ write, work }) => {
        write("agents/later.md", "x");
        git(work, ["add", "--intent-to-add", "agents/later.md"]);
      },
      /version 3/,
    ],
    ["a split index", ({ work }) => git(work, ["update-index", "--split-index"]), /split into two/],
    ["no index", ({ work }) => rmSync(join(work, ".git", "index")), /has no index/],
    [
      "a tree that lies elsewhere",
      ({ work, home }) => git(work, ["config", "core.worktree", home]),
      /no usual place/,
    ],
  ])("is refused beside %s, and nothing is touched", async (_what, prepare, reason, files) => {
    const world = setUp();
    prepare(world);
    const { work, writer, change } = world;
    const main = git(work, ["rev-parse", "main"]);
    const index = join(work, ".git", "index");
    const before = existsSync(index) ? readFileSync(index) : undefined;
    const branch = openRepository({ kind: "local", path: work, branch: "main" }).writer;
    const used = _what.startsWith("a rebase") ? branch : writer;
    const asked = { ...change(...(files ?? [])), baseSha: main };
    expect(await used.commit(asked)).toEqual({ refused: expect.stringMatching(reason) });
    expect(git(work, ["rev-parse", "main"])).toBe(main);
    expect(existsSync(index) ? readFileSync(index) : undefined).toEqual(before);
    expect(existsSync(join(work, ".git", "index.lock"))).toBe(false);
  });

  it("is refused while a merge has conflicts", async () => {
    const { work, write, writer, change, head } = setUp();
    git(work, ["checkout", "-q", "-b", "other"]);
    write("README.md", "theirs");
    git(work, ["commit", "-qam", "theirs"]);
    git(work, ["checkout", "-q", "main"]);
    write("README.md", "ours");
    git(work, ["commit", "-qam", "ours"]);
    expect(() => git(work, ["merge", "-q", "other"])).toThrow();
    const before = head();
    expect(await writer.commit(change())).toEqual({ refused: expect.stringContaining("under way") });
    // Somebody gave up the merge by removing its note alone.
    rmSync(join(work, ".git", "MERGE_HEAD"));
    expect(await writer.commit(change())).toEqual({
      refused: expect.stringContaining("a merge is not finished"),
    });
    expect(head()).toBe(before);
  });

  it("waits for Git, and gives up for now when that takes long", async () => {
    const { work, writer, change, status, isTidy } = setUp();
    const lock = join(work, ".git", "index.lock");
    writeFileSync(lock, "");
    const failure = await writer.commit(change()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RepositoryUnavailable);
    expect(failure).toMatchObject({ reason: "unreachable", message: expect.stringContaining("index.lock") });
    expect(existsSync(lock)).toBe(true);
    const waiting = writer.commit(change());
    rmSync(lock);
    expect(await waiting).toHaveProperty("commitSha");
    expect(status()).toBe("");
    isTidy();
  });

  it("of many at once, all are made one after another", async () => {
    const { work, change, status, isTidy } = setUp();
    const names = ["a", "b", "c", "d"].map((name) => `agents/ai-sdk/${name}-new.yaml`);
    const results = await Promise.all(
      names.map((path) => openRepository({ kind: "local", path: work }).writer.commit(change([path, path]))),
    );
    for (const result of results) expect(result).toHaveProperty("commitSha");
    expect(status()).toBe("");
    expect(git(work, ["rev-list", "--count", "main"])).toBe("5");
    isTidy();
  });

  it("goes to the linked tree that shows the branch, and to none of two", async () => {
    const { home, work, baseSha } = setUp();
    const linked = join(home, "linked");
    git(work, ["worktree", "add", "-q", "-b", "served", linked]);
    const served = openRepository({ kind: "local", path: work, branch: "served" }).writer;
    const files = [{ path: spec, text: "new" }];
    expect(await served.commit({ baseSha, files, message: "m" })).toHaveProperty("commitSha");
    expect(readFileSync(join(linked, spec), "utf8")).toBe("new");
    expect(readFileSync(join(work, spec), "utf8")).toBe(`old ${spec}`);
    expect([git(linked, ["status", "--porcelain"]), git(work, ["status", "--porcelain"])]).toEqual(["", ""]);
    const fromLinked = openRepository({ kind: "local", path: linked }).writer;
    const again = { baseSha, files: [{ path: fresh, text: "x" }], message: "m" };
    expect(await fromLinked.commit(again)).toHaveProperty("commitSha");
    expect(git(linked, ["status", "--porcelain"])).toBe("");
    git(work, ["checkout", "-q", "--ignore-other-worktrees", "served"]);
    expect(await served.commit({ ...again, files: [{ path: fresh, text: "y" }] })).toEqual({
      refused: expect.stringContaining("several working trees"),
    });
  });

  it("is not begun when the tree's folder takes no file", async () => {
    const { work, writer, change, head, baseSha, status } = setUp();
    mkdirSync(join(work, `${spec}.rollcall-new`));
    await expect(writer.commit(change())).rejects.toBeInstanceOf(RepositoryUnavailable);
    expect(head()).toBe(baseSha);
    expect(status()).toBe("");
    rmSync(join(work, `${spec}.rollcall-new`), { recursive: true });
    expect(await writer.commit(change())).toHaveProperty("commitSha");
    expect(status()).toBe("");
  });

  /** A repository in which a process could do no more than that many steps of a commit. */
  function cutOff(how: "kill" | "fail", step: number) {
    const world = setUp();
    const args = [world.work, how, String(step), world.baseSha, spec, "new"];
    const { stdout, stderr } = spawnSync(process.execPath, [commitProcess, ...args], { encoding: "utf8" });
    return { ...world, isWhole: stdout.startsWith("done true"), explain: () => stdout + stderr };
  }

  it("that was cut off keeps what somebody wrote into the file since", { timeout: 60_000 }, async () => {
    for (let step = 1; ; step += 1) {
      const { isWhole, explain, head, baseSha, read, write, writer, change, status } = cutOff("kill", step);
      expect(isWhole, explain()).toBe(false);
      if (head() === baseSha || read(spec) === "new") continue;
      write(spec, "mine");
      expect(await writer.commit(change())).toEqual({ commitSha: head(), url: undefined });
      expect(read(spec)).toBe("mine");
      expect(status()).toBe(` M ${spec}`);
      return;
    }
  });

  it("does not take the lock of a process on another host, or of one that lives", async () => {
    const { work, writer, change } = setUp();
    const lock = join(work, ".git", "index.lock");
    const note = { rollcall: 1, token: "t", host: hostname(), pid: process.ppid, startedAt: 1, plan: [] };
    for (const kept of [note, { ...note, host: "elsewhere.example", pid: 2 ** 22 + 1 }]) {
      writeFileSync(lock, JSON.stringify(kept));
      await expect(writer.commit(change())).rejects.toBeInstanceOf(RepositoryUnavailable);
      expect(readFileSync(lock, "utf8")).toBe(JSON.stringify(kept));
    }
  });

  it.each(["kill", "fail"] as const)(
    "is made once and whole by the next try, at whatever step its process meets a %s",
    { timeout: 120_000 },
    async (how) => {
      for (let step = 1; ; step += 1) {
        const { work, isWhole, explain, head, writer, change, status, read, isTidy } = cutOff(how, step);
        const place = `step ${step}: ${explain()}`;
        expect(await writer.commit(change()), place).toEqual({ commitSha: head(), url: undefined });
        expect([status(), read(spec)], place).toEqual(["", "new"]);
        expect(git(work, ["rev-list", "--count", "main"]), place).toBe("2");
        expect(existsSync(join(work, ".git", "index.lock")), place).toBe(false);
        expect(existsSync(join(work, ".git", "refs", "heads", "main.lock")), place).toBe(false);
        if (isWhole) return isTidy();
        expect(step, place).toBeLessThan(60);
      }
    },
  );
});
