import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openRepository, RepositoryUnavailable } from "../../../src/repositories/index.ts";
import { git, hasGit } from "../../support/git-program.ts";

const spec = "agents/ai-sdk/a.yaml";
const branch = "rollcall/a-1";

/** A bare repository that Git itself has made and packed, with what it then has to say of it. */
function setUp() {
  const home = mkdtempSync(join(tmpdir(), "rollcall-writer-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const work = join(home, "work");
  git(home, ["init", "-q", "-b", "main", "work"]);
  for (const [path, text] of [
    ["agents/ai-sdk/a.yaml", "old"],
    ["agents/ai-sdk.md", "sorted before the folder"],
    ["agents/ai-sdk0", "sorted after it"],
    ["agents/odd\\name/x", "a name that Git libraries refuse"],
    ["run.sh", "x"],
  ] as const) {
    git(work, ["update-index", "--add", "--cacheinfo", `100755,${hash(work, text)},${path}`]);
  }
  git(work, ["commit", "-qm", "first"]);
  const bare = join(home, "bare.git");
  git(home, ["clone", "-q", "--bare", work, bare]);
  git(bare, ["gc", "-q"]);
  const baseSha = git(bare, ["rev-parse", "main"]);
  const { writer } = openRepository({ kind: "local", path: bare });
  const change = {
    baseSha,
    files: [{ path: spec, text: "new" }],
    message: "Change a\n\nRequested-by: otto\n",
  };
  return { bare, work, writer, baseSha, change, proposal: { ...change, branch, title: "t", body: "b" } };
}

const hash = (cwd: string, text: string) => git(cwd, ["hash-object", "-w", "--stdin"], text);

describe.skipIf(!hasGit())("what is written to a repository on disk", () => {
  it("is sound in Git's eyes, with modes and order kept", async () => {
    const { bare, writer, change, proposal, baseSha } = setUp();
    expect(await writer.propose(proposal)).toHaveProperty("commitSha");
    expect(await writer.commit(change)).toHaveProperty("commitSha");
    expect(git(bare, ["fsck", "--strict", "--full"])).not.toMatch(/error|warning/);
    expect(git(bare, ["diff", "--raw", "--no-abbrev", baseSha, "main"])).toMatch(
      new RegExp(`^:100755 100755 \\w+ \\w+ M\t${spec}$`),
    );
    expect(git(bare, ["diff", "main", branch])).toBe("");
    expect(git(bare, ["log", "-1", "--format=%an <%ae>%n%B", "main"])).toBe(
      "Rollcall <rollcall@localhost>\nChange a\n\nRequested-by: otto",
    );
  });

  it("moves a branch that is packed, and is moved by Git afterwards", async () => {
    const { bare, work, writer, change } = setUp();
    expect(readFileSync(join(bare, "packed-refs"), "utf8")).toContain("refs/heads/main");
    const { commitSha } = (await writer.commit(change)) as { commitSha: string };
    git(bare, ["pack-refs", "--all"]);
    expect(git(bare, ["rev-parse", "main"])).toBe(commitSha);
    git(work, ["pull", "-q", bare, "main"]);
    git(work, ["commit", "-q", "--allow-empty", "-m", "more"]);
    git(work, ["push", "-q", bare, "main"]);
    expect(git(bare, ["rev-parse", "main~1"])).toBe(commitSha);
  });

  it("waits for another process's lock and then gives up for now", async () => {
    const { bare, writer, change } = setUp();
    const lock = join(bare, "refs", "heads", "main.lock");
    writeFileSync(lock, "");
    const failure = await writer.commit(change).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RepositoryUnavailable);
    expect(failure).toMatchObject({ reason: "unreachable", message: expect.stringContaining("locked") });
    const waiting = writer.commit(change);
    rmSync(lock);
    expect(await waiting).toHaveProperty("commitSha");
  });
});
