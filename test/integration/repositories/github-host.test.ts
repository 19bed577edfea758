import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  type NewCheckRun,
  type NewCommitStatus,
  openRepository,
  type PullRequestHost,
} from "../../../src/repositories/index.ts";
import { createTestRepository, type TestRepository } from "../../support/git-repository.ts";
import { type GitHubSimulator, startGitHubSimulator } from "../../support/github-simulator.ts";

const unknown = "f".repeat(40);
const files = { "agents/ai-sdk/a.yaml": "a" };

describe("pull requests on GitHub", () => {
  let repository: TestRepository;
  let github: GitHubSimulator;
  let host: PullRequestHost;
  let main: string;

  beforeEach(async () => {
    repository = await createTestRepository();
    github = await startGitHubSimulator(repository);
    const { owner, repo, app } = github;
    const opened = openRepository({ kind: "github", owner, repo, app }).host;
    if (opened === undefined) throw new Error("A repository on GitHub has pull requests.");
    host = opened;
    main = await repository.commit(files);
    return async () => {
      await github.close();
      await repository.remove();
    };
  });

  /** The calls of a kind so far, without the repository's own part. */
  const callsOf = (prefix: string) =>
    github.calls
      .map((call) => call.replace("/repos/acme/agents", ""))
      .filter((call) => call.startsWith(prefix));

  it("are none for a repository on disk", () => {
    expect(openRepository({ kind: "local", path: repository.gitdir }).host).toBeUndefined();
  });

  it("are told with what decides about them", async () => {
    const head = await repository.commit(files, "change", [main]);
    github.host.openPull({ number: 7, headSha: head, author: "Ada", draft: true });
    expect(await host.pullRequest(7)).toEqual({
      number: 7,
      open: true,
      merged: false,
      draft: true,
      headSha: head,
      baseRef: "main",
      baseSha: main,
      author: "Ada",
      authorBelongs: true,
      fork: false,
    });
    github.host.merge(7);
    expect(await host.pullRequest(7)).toMatchObject({ open: false, merged: true });
    github.host.openPull({ number: 8, headSha: head });
    github.host.close(8);
    expect(await host.pullRequest(8)).toMatchObject({ open: false, merged: false });
  });

  it.each([
    [
      "a member's fork",
      { headRepo: "ada/agents", association: "MEMBER" },
      { fork: true, authorBelongs: true },
    ],
    [
      "an outsider's fork",
      { headRepo: "eve/agents", association: "NONE" },
      { fork: true, authorBelongs: false },
    ],
    [
      "a contributor's fork",
      { headRepo: "eve/agents", association: "CONTRIBUTOR" },
      { fork: true, authorBelongs: false },
    ],
    [
      "a fork that is gone",
      { headRepo: null, association: "FIRST_TIMER" },
      { fork: true, authorBelongs: false },
    ],
    ["somebody who may write and hides it", { author: "wes", association: "NONE" }, { authorBelongs: true }],
    ["a stranger without a fork", { author: "eve", association: "NONE" }, { authorBelongs: false }],
    ["an account that is gone", { author: null, headRepo: null, association: "NONE" }, { author: "" }],
  ])("tell where they come from: %s", async (_, given, expected) => {
    github.host.writers.add("wes");
    github.host.openPull({ number: 7, headSha: main, ...given });
    expect(await host.pullRequest(7)).toMatchObject(expected);
  });

  it("that are not there are undefined, unless the repository is not there either", async () => {
    expect(await host.pullRequest(7)).toBeUndefined();
    expect(await host.branchHead("elsewhere")).toBeUndefined();
    expect(await host.mergeBase(main, unknown)).toBeUndefined();
    github.setAccess(false);
    const gone = { name: "RepositoryUnavailable", reason: "not_found" };
    await expect(host.pullRequest(7)).rejects.toMatchObject(gone);
    await expect(host.branchHead("main")).rejects.toMatchObject(gone);
    await expect(host.mergeBase(main, unknown)).rejects.toMatchObject(gone);
    await expect(host.postStatus(status({}))).rejects.toMatchObject(gone);
  });

  it("that may not be read are not taken for absent ones", async () => {
    github.host.permissions.pullRequests = false;
    const forbidden = { reason: "forbidden", message: expect.stringContaining("pull requests") };
    await expect(host.pullRequest(7)).rejects.toMatchObject(forbidden);
  });

  it("have a merge base, which costs one call and no files", async () => {
    const fork = await repository.commit({ "a.txt": "1" }, "main", [main]);
    const base = await repository.commit({ "a.txt": "2" }, "main", [fork]);
    const head = await repository.commit({ "a.txt": "3" }, "change", [fork]);
    const unrelated = await repository.commit({ "a.txt": "4" }, "other");
    expect(await host.mergeBase(base, head)).toBe(fork);
    expect(callsOf("GET /compare")).toEqual([`GET /compare/${base}...${head}?per_page=1&page=2`]);
    expect(await host.mergeBase(main, head)).toBe(main);
    expect(await host.mergeBase(head, head)).toBe(head);
    expect(await host.mergeBase(base, unrelated)).toBeUndefined();
    expect(await host.branchHead("change")).toBe(head);
  });

  it("are found on a branch of a merge queue", async () => {
    const branch = "gh-readonly-queue/main/pr-7-abc";
    const head = await repository.commit(files, branch, [main]);
    expect(await host.branchHead(branch)).toBe(head);
    expect(await host.branchHead("gh-readonly-queue/main/pr-7")).toBeUndefined();
  });

  function status(changes: Partial<NewCommitStatus>): NewCommitStatus {
    const usual = { context: "rollcall/evals", state: "success", description: "All passed." } as const;
    return { sha: main, targetUrl: undefined, ...usual, ...changes };
  }

  function check(changes: Partial<NewCheckRun>, annotations = 0): NewCheckRun {
    const lines = Array.from({ length: annotations }, (_, index) => ({
      path: "agents/ai-sdk/a.eval.yaml",
      line: index + 1,
      message: "It said no.",
      title: "polite answer",
    }));
    const report = { title: "1 of 2 passed", summary: "| agent |", annotations: lines };
    const usual = { name: "Rollcall evals", state: "failure", detailsUrl: undefined, id: undefined } as const;
    return { sha: main, ...usual, report, ...changes };
  }

  describe("a status", () => {
    it("is posted as it is, and shown by GitHub", async () => {
      const targetUrl = "https://rollcall.test/commits/1";
      expect(await host.postStatus(status({ state: "pending", targetUrl }))).toEqual({ posted: true });
      expect(await host.postStatus(status({ description: "ü".repeat(140) }))).toEqual({ posted: true });
      expect(github.host.statuses).toEqual([
        {
          sha: main,
          state: "pending",
          context: "rollcall/evals",
          description: "All passed.",
          target_url: targetUrl,
        },
        {
          sha: main,
          state: "success",
          context: "rollcall/evals",
          description: "ü".repeat(140),
          target_url: null,
        },
      ]);
    });

    it("may name a case with an emoji, which GitHub would refuse", async () => {
      expect(await host.postStatus(status({ description: "failed at '👋 hi' \ud800" }))).toEqual({
        posted: true,
      });
      expect(github.host.statuses[0]?.description).toBe("failed at '\ufffd hi' \ufffd");
    });

    it("is refused without the permission, until it is given", async () => {
      github.host.permissions.statuses = false;
      const refused =
        "The GitHub App may not write commit statuses: give it the permission and accept it for the installation.";
      expect(await host.postStatus(status({}))).toEqual({ refused });
      github.host.permissions.statuses = true;
      expect(await host.postStatus(status({}))).toEqual({ posted: true });
    });

    it("is refused for a commit that GitHub does not know", async () => {
      expect(await host.postStatus(status({ sha: unknown }))).toEqual({
        refused: "GitHub does not know the commit for its commit statuses: push it.",
      });
    });

    it("is refused after a thousand", async () => {
      const one = {
        sha: main,
        state: "pending",
        context: "rollcall/evals",
        description: "",
        target_url: null,
      };
      github.host.statuses.push(...Array.from({ length: 1000 }, () => one));
      expect(await host.postStatus(status({}))).toEqual({
        refused: "The commit has as many statuses as GitHub takes for one context: push another commit.",
      });
    });

    it("whose answer is lost is posted once more at once: that shows nothing twice", async () => {
      github.failNext("POST /statuses/", "lost");
      expect(await host.postStatus(status({}))).toEqual({ posted: true });
      expect(github.host.statuses).toHaveLength(2);
    });
  });

  describe("a check run", () => {
    it("is made, changed and completed", async () => {
      const made = await host.postCheckRun(check({ state: "pending", detailsUrl: "https://rollcall.test/" }));
      expect(made).toEqual({ id: expect.any(Number) });
      const id = "id" in made ? made.id : undefined;
      expect(github.host.checkRuns).toMatchObject([
        {
          id,
          head_sha: main,
          status: "in_progress",
          conclusion: null,
          details_url: "https://rollcall.test/",
        },
      ]);
      expect(await host.postCheckRun(check({ id }, 120))).toEqual({ id });
      const [run, ...others] = github.host.checkRuns;
      expect(others).toEqual([]);
      expect(run).toMatchObject({ name: "Rollcall evals", status: "completed", conclusion: "failure" });
      expect(run?.output.annotations.map((each) => each.start_line)).toEqual(
        Array.from({ length: 120 }, (_, index) => index + 1),
      );
      expect(run?.output.annotations[0]).toMatchObject({
        annotation_level: "failure",
        title: "polite answer",
      });
      expect(callsOf("PATCH /check-runs")).toHaveLength(3);
    });

    it("is made whole at once, of as many calls as it needs", async () => {
      const { id } = (await host.postCheckRun(check({}, 101))) as { id: number };
      expect(github.host.checkRuns).toMatchObject([{ id, conclusion: "failure" }]);
      expect(github.host.checkRuns[0]?.output.annotations).toHaveLength(101);
    });

    it("that GitHub has cleared away is made again", async () => {
      const { id } = (await host.postCheckRun(check({ id: 1 }))) as { id: number };
      expect(github.host.checkRuns).toMatchObject([{ id, conclusion: "failure" }]);
    });

    it("with more than GitHub takes is shortened, not refused", async () => {
      const report = {
        title: "ü".repeat(300),
        summary: "ü".repeat(40_000),
        annotations: [{ path: "a", line: 1, message: "ü".repeat(40_000), title: "ü".repeat(300) }],
      };
      expect(await host.postCheckRun(check({ report }))).toEqual({ id: expect.any(Number) });
    });

    it("is refused without the permission, new or not", async () => {
      const { id } = (await host.postCheckRun(check({}))) as { id: number };
      github.host.permissions.checks = false;
      const refused = expect.stringContaining("The GitHub App may not write check runs");
      expect(await host.postCheckRun(check({}))).toEqual({ refused });
      expect(await host.postCheckRun(check({ id }))).toEqual({ refused });
    });

    it("whose answer is lost is not made twice by one call", async () => {
      github.failNext("POST /check-runs", "lost");
      await expect(host.postCheckRun(check({}))).rejects.toMatchObject({ reason: "unreachable" });
      expect(github.host.checkRuns).toHaveLength(1);
      expect(callsOf("POST /check-runs")).toHaveLength(1);
    });

    it("is not sent further after a failure in the middle", async () => {
      github.failNext("PATCH /check-runs/", { status: 502, body: {} });
      await expect(host.postCheckRun(check({}, 150))).rejects.toMatchObject({ reason: "unreachable" });
      expect(github.host.checkRuns).toMatchObject([{ status: "in_progress", conclusion: null }]);
      expect(callsOf("PATCH /check-runs")).toHaveLength(1);
    });
  });

  it("share limits with the reading of the repository", async () => {
    const { owner, repo, app } = github;
    const { reader, host: shared } = openRepository({ kind: "github", owner, repo, app });
    github.failNext("POST /statuses/", { status: 429, headers: { "retry-after": "30" }, body: {} });
    const limited = { reason: "rate_limited", retryAt: expect.any(Number) };
    await expect(shared?.postStatus(status({}))).rejects.toMatchObject(limited);
    await expect(reader.head()).rejects.toMatchObject(limited);
    expect(github.host.statuses).toEqual([]);
    onTestFinished(() => reader.close());
  });
});
