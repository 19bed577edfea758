import fs from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import isomorphicGit from "isomorphic-git";
import { beforeEach, describe, expect, it } from "vitest";
import {
  openRepository,
  type RepositoryReader,
  type RepositoryWriter,
} from "../../../src/repositories/index.ts";
import { createTestRepository, type TestRepository } from "../../support/git-repository.ts";
import { type GitHubSimulator, startGitHubSimulator } from "../../support/github-simulator.ts";

const spec = "agents/ai-sdk/a.yaml";
const files = {
  "README.md": "read me",
  "agents/ai-sdk/b.yaml": "b",
  "agents/odd name/x": "x",
  "agents/link": { symlink: "ai-sdk" },
  [spec]: "old",
};
const branch = "rollcall/a-1";
const message = "Change a\n\nRequested-by: otto\n";

/** Both kinds of repository are written in the same way. */
describe.each(["local", "github"] as const)("writing to a %s repository", (kind) => {
  let repository: TestRepository;
  let github: GitHubSimulator | undefined;
  let writer: RepositoryWriter;
  let reader: RepositoryReader;
  let base: string;

  beforeEach(async () => {
    repository = await createTestRepository();
    base = await repository.commit(files);
    github = kind === "github" ? await startGitHubSimulator(repository) : undefined;
    ({ writer, reader } = github
      ? openRepository({ kind: "github", owner: github.owner, repo: github.repo, app: github.app })
      : openRepository({ kind: "local", path: repository.gitdir }));
    return async () => {
      await github?.close();
      await repository.remove();
    };
  });

  const change = (text = "new", path = spec) => ({ baseSha: base, files: [{ path, text }], message });
  const proposal = (text?: string, path?: string) => ({
    ...change(text, path),
    branch,
    title: "Change a",
    body: "Why",
  });
  const headOf = (name: string) =>
    isomorphicGit.resolveRef({ fs, gitdir: repository.gitdir, ref: `refs/heads/${name}` });
  const commitOf = async (oid: string) =>
    (await isomorphicGit.readCommit({ fs, gitdir: repository.gitdir, oid })).commit;

  async function textAt(commit: string, path: string): Promise<string | undefined> {
    const bytes = await reader.file(commit, path, 1_000);
    return bytes && Buffer.from(bytes).toString();
  }

  /** The repository's paths with their blobs at a commit, the files that were written left out. */
  async function restOf(commit: string) {
    return (await reader.tree(commit)).filter(({ path }) => path !== spec);
  }

  it("proposes on a branch and leaves all else as it is", async () => {
    const written = await writer.propose(proposal());
    const sha = await headOf(branch);
    const url = kind === "github" ? "https://github.test/acme/agents/pull/101" : undefined;
    expect(written).toEqual({ commitSha: sha, url });
    expect(await commitOf(sha)).toMatchObject({ parent: [base], message });
    expect(await textAt(sha, spec)).toBe("new");
    expect(await textAt(sha, "README.md")).toBe("read me");
    expect(await restOf(sha)).toEqual(await restOf(base));
    expect(await headOf("main")).toBe(base);
    if (github)
      expect([...github.host.pulls.values()]).toMatchObject([
        { headRef: branch, baseRef: "main", title: "Change a", body: "Why", author: "rollcall[bot]" },
      ]);
  });

  it("adds files and folders", async () => {
    const path = "agents/new-framework/n.eval.yaml";
    const written = await writer.propose(proposal("n", path));
    expect(await textAt(Reflect.get(written, "commitSha"), path)).toBe("n");
    expect(await reader.tree(await headOf(branch))).toHaveLength(5);
  });

  it("does nothing twice", async () => {
    const first = await writer.propose(proposal());
    expect(await writer.propose(proposal())).toEqual(first);
    await repository.commit(files, "main", [base]);
    expect(await writer.propose(proposal())).toEqual(first);
    if (github) expect(github.host.pulls.size).toBe(1);
    const direct = await writer.commit(change("newer"));
    expect(await writer.commit(change("newer"))).toMatchObject({
      commitSha: Reflect.get(direct, "commitSha"),
    });
  });

  it("refuses a branch that has other contents", async () => {
    await repository.commit({ ...files, [spec]: "somebody's" }, branch, [base]);
    expect(await writer.propose(proposal())).toEqual({ refused: expect.stringContaining("other contents") });
  });

  it("commits on the served branch", async () => {
    const written = await writer.commit(change());
    const sha = await headOf("main");
    expect(written).toMatchObject({ commitSha: sha });
    expect(await commitOf(sha)).toMatchObject({ parent: [base], message });
    expect(await reader.head()).toBe(sha);
    expect(await restOf(sha)).toEqual(await restOf(base));
  });

  it("goes onto a head that moved elsewhere, and stops before one that changed the same file", async () => {
    const moved = await repository.commit({ ...files, "agents/ai-sdk/b.yaml": "b2" }, "main", [base]);
    const written = await writer.propose(proposal());
    const sha = Reflect.get(written, "commitSha");
    expect(await commitOf(sha)).toMatchObject({ parent: [moved] });
    expect(await textAt(sha, "agents/ai-sdk/b.yaml")).toBe("b2");

    await repository.commit({ ...files, [spec]: "theirs" }, "main", [moved]);
    const conflict = { refused: expect.stringContaining(`${spec} was changed`) };
    expect(await writer.commit(change())).toEqual(conflict);
    expect(await writer.propose({ ...proposal(), branch: "rollcall/a-2" })).toEqual(conflict);
  });

  it("refuses a new file that somebody else has added meanwhile", async () => {
    const path = "agents/ai-sdk/n.yaml";
    await repository.commit({ ...files, [path]: "theirs" }, "main", [base]);
    expect(await writer.commit(change("mine", path))).toEqual({
      refused: expect.stringContaining(`${path} was changed`),
    });
  });

  it.each([
    "README.md",
    ".github/workflows/x.yml",
    "agents",
    "agents/",
    "agents/../README.md",
    "agents//x",
    "/agents/x",
    "agents\\x",
    "agents/.git/config",
    "agents/GIT~1/config",
    "agents/.git./x",
    "agents/x\ny",
    "Agents/ai-sdk/x.yaml",
  ])("never writes %j", async (path) => {
    for (const answer of [await writer.commit(change("x", path)), await writer.propose(proposal("x", path))])
      expect(answer).toEqual({ refused: expect.stringContaining("below agents/") });
    expect(await isomorphicGit.listBranches({ fs, gitdir: repository.gitdir })).toEqual(["main"]);
    if (github) expect(github.calls).toEqual([]);
  });

  it.each(["agents/link", "agents/link/x.yaml", "agents/ai-sdk/b.yaml/x.yaml", "agents/ai-sdk"])(
    "does not put %j in the place of something else",
    async (path) => {
      const answer = await writer.propose(proposal("x", path));
      expect(answer).toEqual({ refused: expect.stringContaining("no ordinary") });
    },
  );

  it("does not replace a file or link called agents", async () => {
    for (const agents of ["a file", { symlink: "/etc" }]) {
      base = await repository.commit({ agents });
      const answer = await writer.commit(change());
      expect(answer).toEqual({ refused: expect.stringContaining("agents is no") });
    }
  });

  it("keeps the commits of all who write at once", async () => {
    const writes = ["p", "q", "r"].map((name) => writer.commit(change(name, `agents/ai-sdk/${name}.yaml`)));
    const answers = await Promise.all(writes);
    const done = answers.filter((answer) => "commitSha" in answer);
    expect(done.length).toBeGreaterThan(0);
    const paths = (await reader.tree(await reader.head())).map(({ path }) => path);
    for (const [index, name] of ["p", "q", "r"].entries())
      expect(paths.includes(`agents/ai-sdk/${name}.yaml`)).toBe("commitSha" in (answers[index] ?? {}));
  });

  it("is refused a branch below one of that name", async () => {
    if (kind === "github") return;
    await repository.commit(files, "rollcall");
    expect(await writer.propose(proposal())).toEqual({ refused: expect.stringContaining("in the way") });
  });
});

describe("an agent change on GitHub", () => {
  async function setUp() {
    const repository = await createTestRepository();
    const base = await repository.commit(files);
    const github = await startGitHubSimulator(repository);
    const { owner, repo, app, host } = github;
    const { writer } = openRepository({ kind: "github", owner, repo, app });
    const change = { baseSha: base, files: [{ path: spec, text: "new" }], message };
    const proposal = { ...change, branch, title: "Change a", body: "Why" };
    const close = async () => {
      await github.close();
      await repository.remove();
    };
    return { github, host, writer, change, proposal, repository, base, close };
  }

  it("says which permission is missing", async () => {
    const { host, writer, change, proposal, close } = await setUp();
    host.permissions.pullRequestWrites = false;
    expect(await writer.propose(proposal)).toEqual({
      refused: expect.stringContaining("may not write pull requests"),
    });
    host.permissions.contents = false;
    expect(await writer.commit(change)).toEqual({
      refused: expect.stringContaining("may not write contents"),
    });
    // The branch that was made before is found again.
    host.permissions.pullRequestWrites = true;
    expect(await writer.propose(proposal)).toHaveProperty("url");
    await close();
  });

  it("passes on that the branch is protected", async () => {
    const { host, writer, change, close } = await setUp();
    host.protectedBranches.add("main");
    expect(await writer.commit(change)).toEqual({ refused: expect.stringContaining("rule violations") });
    await close();
  });

  it.each(["POST /git/trees", "POST /git/commits", "POST /git/refs", "POST /pulls"])(
    "is made once, whatever becomes of %s",
    async (call) => {
      const { github, host, writer, proposal, close } = await setUp();
      github.failNext(call, "lost");
      await writer.propose(proposal).catch(() => {});
      expect(await writer.propose(proposal)).toMatchObject({
        url: "https://github.test/acme/agents/pull/101",
      });
      expect(host.pulls.size).toBe(1);
      await close();
    },
  );

  it("is not opened again once it was closed or merged", async () => {
    const { host, writer, proposal, repository, close } = await setUp();
    const first = await writer.propose(proposal);
    host.merge(101);
    await repository.deleteRef(`refs/heads/${branch}`);
    expect(await writer.propose(proposal)).toEqual(first);
    await close();
  });

  it("is put onto a head that moves at the last moment", async () => {
    const { github, writer, change, repository, base, close } = await setUp();
    github.failNext("PATCH /git/refs", { status: 422, body: { message: "Update is not a fast forward" } });
    await repository.commit({ ...files, "README.md": "2" }, "main", [base]);
    expect(await writer.commit(change)).toMatchObject({ url: expect.stringContaining("/commit/") });
    await close();
  });
});

describe("a local repository with a working tree", () => {
  it("takes proposals, and refuses to move the branch that is checked out", async () => {
    const repository = await createTestRepository();
    const base = await repository.commit(files);
    const config = join(repository.gitdir, "config");
    await writeFile(config, fs.readFileSync(config, "utf8").replace("bare = true", "bare = false"));
    const { writer } = openRepository({ kind: "local", path: repository.gitdir });
    const change = { baseSha: base, files: [{ path: spec, text: "new" }], message };
    expect(await writer.commit(change)).toEqual({ refused: expect.stringContaining("checked out") });
    expect(await writer.propose({ ...change, branch, title: "t", body: "b" })).toHaveProperty("commitSha");
    await repository.checkOut("elsewhere");
    const other = openRepository({ kind: "local", path: repository.gitdir, branch: "main" }).writer;
    expect(await other.commit(change)).toHaveProperty("commitSha");
    const linked = join(repository.gitdir, "worktrees", "w");
    await mkdir(linked, { recursive: true });
    await writeFile(join(linked, "HEAD"), "ref: refs/heads/main\n");
    const again = { ...change, files: [{ path: "agents/ai-sdk/z.yaml", text: "z" }] };
    expect(await other.commit(again)).toEqual({ refused: expect.stringContaining("checked out") });
    await repository.remove();
  });
});
