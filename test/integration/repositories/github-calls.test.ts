import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createGuard } from "../../../src/repositories/github/guard.ts";
import { createInstallationOctokit } from "../../../src/repositories/github/octokit.ts";
import { createGitHubReader } from "../../../src/repositories/github/reader.ts";
import { openRepository, type RepositoryReader } from "../../../src/repositories/index.ts";
import { createTestRepository, type TestRepository } from "../../support/git-repository.ts";
import { type GitHubSimulator, startGitHubSimulator } from "../../support/github-simulator.ts";

const LIMIT = 128 * 1024;
const manyAgents = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`agents/ai-sdk/agent-${n}.yaml`, `name: ${n}\n`]),
  );

describe("calls to GitHub", () => {
  let repository: TestRepository;
  let github: GitHubSimulator;

  beforeEach(async () => {
    repository = await createTestRepository();
    github = await startGitHubSimulator(repository);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await github.close();
    await repository.remove();
  });

  const open = (branch?: string) => {
    const { owner, repo, app } = github;
    const served = branch === undefined ? {} : { branch };
    return openRepository({ kind: "github", owner, repo, app, ...served }).reader;
  };
  /** The calls that `work` made, without the ones for access. */
  async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
    const before = github.calls.length;
    await work();
    return github.calls.slice(before).map((call) => call.replace("/repos/acme/agents", ""));
  }
  const sync = async (reader: RepositoryReader, known: ReadonlySet<string> = new Set()) => {
    const tree = await reader.tree(await reader.head());
    const changed = tree.filter(({ blobSha }) => !known.has(blobSha));
    await reader.blobs(changed, LIMIT);
    return new Set(tree.map(({ blobSha }) => blobSha));
  };

  it("are three for a push that touches one agent, and one that costs nothing when nothing was pushed", async () => {
    const files = manyAgents(300);
    const first = await repository.commit(files);
    const reader = open("main");
    let known = new Set<string>();
    expect(
      await callsOf(async () => {
        known = await sync(reader);
      }),
    ).toEqual([
      "GET /installation",
      expect.stringMatching(/^POST \/app\/installations\/\d+\/access_tokens$/),
      "GET /git/ref/heads%2Fmain",
      `GET /git/trees/${first}%3Aagents?recursive=1`,
      "POST /graphql",
      "POST /graphql",
    ]);
    expect(await callsOf(() => reader.head())).toEqual(["GET /git/ref/heads%2Fmain"]);
    const second = await repository.commit({ ...files, "agents/ai-sdk/agent-7.yaml": "name: changed\n" });
    expect(await callsOf(() => sync(reader, known))).toEqual([
      "GET /git/ref/heads%2Fmain",
      `GET /git/trees/${second}%3Aagents?recursive=1`,
      expect.stringMatching(/^GET \/git\/blobs\/[0-9a-f]{40}$/),
    ]);
  });

  it("look the default branch up once", async () => {
    const sha = await repository.commit({ "agents/a.yaml": "a" });
    const reader = open();
    expect(await callsOf(() => reader.head())).toContain("GET ");
    await repository.commit({ "agents/a.yaml": "b" });
    expect(await callsOf(() => reader.head())).toEqual(["GET /git/ref/heads%2Fmain"]);
    expect(await reader.head()).not.toBe(sha);
  });

  it("fetch nothing that the listing shows to be too large", async () => {
    const reader = open("main");
    const tree = await reader.tree(await repository.commit({ "agents/a.yaml": "x".repeat(200) }));
    expect(await callsOf(() => reader.blobs(tree, 100))).toEqual([]);
  });

  it("list folder by folder when GitHub shortens the answer, and miss nothing", async () => {
    const files: Record<string, string> = { "agents/top.yaml": "top" };
    for (const folder of ["a", "a/b", "a/b/c", "d", "e/f"]) {
      for (const name of ["one", "two", "three"])
        files[`agents/${folder}/${name}.yaml`] = `${folder} ${name}`;
    }
    const sha = await repository.commit(files);
    github.served.treeLimit = 4;
    const tree = await open("main").tree(sha);
    expect(tree.map(({ path }) => path)).toEqual(Object.keys(files).sort());
  });

  it("go on with a new token when the old one has expired", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const sha = await repository.commit({ "agents/a.yaml": "a" });
    const reader = open("main");
    await reader.head();
    // A 401 right after a token was made is taken for a delay at GitHub and waited out.
    vi.setSystemTime(Date.now() + 600_000);
    github.expireTokens();
    expect(await callsOf(() => reader.tree(sha))).toEqual([
      `GET /git/trees/${sha}%3Aagents?recursive=1`,
      expect.stringContaining("access_tokens"),
      `GET /git/trees/${sha}%3Aagents?recursive=1`,
    ]);
  });

  it("find the App again after it was removed and installed anew", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const sha = await repository.commit({ "agents/a.yaml": "a" });
    const reader = open("main");
    await reader.head();
    // Longer than a token lives, so that the next call has to ask for one.
    vi.setSystemTime(Date.now() + 2 * 3_600_000);
    github.reinstall();
    expect(await reader.head()).toBe(sha);
  });

  it("begin as soon as access can be had", async () => {
    const sha = await repository.commit({ "agents/a.yaml": "a" });
    const { owner, repo, app } = github;
    let asked = 0;
    const reader = createGitHubReader({
      owner,
      repo,
      branch: "main",
      guard: createGuard("acme/agents", async () => {
        asked += 1;
        if (asked === 1) throw new TypeError("fetch failed");
        return createInstallationOctokit({ ...app, owner, repo });
      }),
    });
    await expect(reader.head()).rejects.toMatchObject({ reason: "unreachable" });
    expect(await reader.head()).toBe(sha);
    expect(await reader.head()).toBe(sha);
    expect(asked).toBe(2);
  });

  describe("with credentials that do not fit", () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });

    it.each([
      ["another App's key", { privateKey }, "forbidden", "APP_ID and PRIVATE_KEY"],
      ["a text that is no key", { privateKey: "secret" }, "forbidden", "PRIVATE_KEY"],
      ["half a key", { privateKey: privateKey.slice(0, 300) }, "forbidden", "PRIVATE_KEY"],
      ["a repository without the App", { repo: "elsewhere" }, "not_found", "install the App"],
    ])("say so: %s", async (_, wrong, reason, advice) => {
      const { owner, repo, app } = github;
      await expect(createInstallationOctokit({ owner, repo, ...app, ...wrong })).rejects.toMatchObject({
        name: "RepositoryUnavailable",
        reason,
        message: expect.stringContaining(advice),
      });
    });
  });
});
