import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openRepository, type PullRequestHost } from "../../../src/repositories/index.ts";
import { useDatabase } from "../../support/databases.ts";
import { createTestRepository } from "../../support/git-repository.ts";
import { type GitHubSimulator, startGitHubSimulator } from "../../support/github-simulator.ts";
import { passed, startService, wanted } from "./commit-status-service.ts";

describe("a commit's status at GitHub", () => {
  const database = useDatabase("sqlite");
  let github: GitHubSimulator;
  let host: PullRequestHost;
  let sha: string;

  beforeEach(async () => {
    const repository = await createTestRepository();
    github = await startGitHubSimulator(repository);
    onTestFinished(async () => {
      await github.close();
      await repository.remove();
    });
    sha = await repository.commit({ "agents/ai-sdk/a.yaml": "name: a\n" }, "change");
    github.host.openPull({ number: 7, headSha: sha });
    const { owner, repo, app } = github;
    const opened = openRepository({ kind: "github", owner, repo, app }).host;
    if (opened === undefined) throw new Error("GitHub has pull requests.");
    host = opened;
  });

  const jobs = () => database.db.read("jobs");
  const service = (worker = {}) => {
    const isHead = async (_workspaceId: string, head: string) =>
      [...github.host.pulls.values()].some(({ headSha }) => headSha === head);
    return startService(database.db, { host, isHead, worker });
  };
  const shown = () => github.host.statuses.map(({ state }) => state);
  const written = () => github.calls.filter((call) => /^(POST|PATCH) .*\/(statuses|check-runs)/.test(call));
  const levels = (lines: readonly Record<string, unknown>[]) => lines.map(({ level }) => level);

  it("is posted once while evals run and once when they are over, with every remark", async () => {
    const test = await service();
    await test.want(wanted({ sha }));
    await test.reached("done", 1);
    expect(github.host.checkRuns).toMatchObject([{ head_sha: sha, status: "in_progress", conclusion: null }]);
    const annotations = Array.from({ length: 120 }, (_, n) => ({
      path: "agents/ai-sdk/a.eval.yaml",
      line: n + 1,
      message: "It should be polite.",
      title: `case ${n}`,
    }));
    const report = { title: "0 of 1 agents passed", summary: "| agent |", annotations };
    await test.want(wanted({ sha, state: "failure", description: "0 of 1 agents passed", report }));
    await test.reached("done", 2);
    const status = { sha, context: "rollcall/evals", target_url: `https://rollcall.example/commits/${sha}` };
    expect(github.host.statuses).toEqual([
      { ...status, state: "pending", description: "Evals are running." },
      { ...status, state: "failure", description: "0 of 1 agents passed" },
    ]);
    expect(github.host.checkRuns).toMatchObject([
      { name: "Rollcall evals", status: "completed", conclusion: "failure", output: { title: report.title } },
    ]);
    const sent = github.host.checkRuns[0]?.output.annotations.map(({ title }) => title);
    expect(sent).toEqual(annotations.map(({ title }) => title));
    expect(await test.post(sha)).toEqual({ state: "posted" });
    expect(await jobs()).toEqual([]);
    expect(test.lines).toEqual([]);
  });

  it("is skipped without a permission for it, and that is told once, as nothing to worry about", async () => {
    Object.assign(github.host.permissions, { statuses: false, checks: false });
    const test = await service();
    await test.want(wanted({ sha }));
    await test.reached("done", 1);
    const skipped = { state: "skipped", reason: expect.stringContaining("permission") };
    expect(await test.post(sha)).toEqual(skipped);
    await test.want(passed({ sha }));
    await test.reached("done", 2);
    expect(await test.post(sha)).toEqual(skipped);
    expect(test.outcomes).toEqual(["done", "done"]);
    expect(levels(test.lines)).toEqual(["info", "debug", "debug", "debug"]);
    expect(github.host.checkRuns).toEqual([]);
  });

  it("is posted without a check run when only that is not permitted", async () => {
    github.host.permissions.checks = false;
    const test = await service();
    await test.want(passed({ sha }));
    await test.reached("done", 1);
    expect([shown(), github.host.checkRuns]).toEqual([["success"], []]);
    expect(await test.post(sha)).toEqual({ state: "posted" });
    expect(levels(test.lines)).toEqual(["debug"]);
  });

  it("is skipped with GitHub's reason when it does not know the commit", async () => {
    const unknown = "d".repeat(40);
    github.host.openPull({ number: 8, headSha: unknown });
    const test = await service();
    await test.want(wanted({ sha: unknown }));
    await test.reached("done", 1);
    expect(await test.post(unknown)).toEqual({
      state: "skipped",
      reason: expect.stringContaining("does not know the commit"),
    });
    expect(await jobs()).toEqual([]);
  });

  it("is tried again when GitHub's Retry-After is over, and not before", async () => {
    const test = await service({ pollMs: 20 });
    const headers = { "retry-after": "1" };
    github.failNext("POST /statuses/", { status: 429, headers, body: { message: "Too many." } });
    const before = Date.now();
    await test.want(passed({ sha }));
    await test.reached("retried", 1);
    expect(await test.post(sha)).toEqual({ state: "pending", reason: expect.stringContaining("rate limit") });
    const calls = written().length;
    await test.reached("done", 1);
    expect(Date.now() - before).toBeGreaterThanOrEqual(1_000);
    expect([calls, shown()]).toEqual([1, ["success"]]);
  });

  it("outlasts answers that say the server has failed", async () => {
    const test = await service();
    github.failNext("POST /statuses/", { status: 502, body: {} }, 2);
    github.failNext("POST /check-runs", { status: 503, body: {} });
    await test.want(passed({ sha }));
    // Octokit asks once more itself after a second.
    await test.reached("retried", 1);
    await test.hurry();
    await test.reached("retried", 2);
    expect(shown()).toEqual(["success"]);
    await test.hurry();
    await test.reached("done", 1);
    expect([shown(), github.host.checkRuns.length]).toEqual([["success"], 1]);
  });

  it("is posted with a fresh token when the one at hand has expired", async () => {
    const test = await service();
    // Octokit would try a token that is a few seconds old again and again: GitHub's servers may not all know it yet.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 600_000 });
    onTestFinished(() => void vi.useRealTimers());
    await test.want(wanted({ sha }));
    await test.reached("done", 1);
    vi.useRealTimers();
    github.expireTokens();
    await test.want(passed({ sha }));
    await test.reached("done", 2);
    expect(shown()).toEqual(["pending", "success"]);
    expect(test.outcomes).toEqual(["done", "done"]);
  });

  it("is not posted on a commit that is no head any more", async () => {
    const test = await service();
    github.host.openPull({ number: 7, headSha: "e".repeat(40) });
    await test.want(wanted({ sha }));
    await test.reached("done", 1);
    expect(await test.post(sha)).toEqual({ state: "skipped", reason: "The head has moved on." });
    expect(written()).toEqual([]);
  });

  it("has a second check run when the answer that told the first one's number was lost", async () => {
    const test = await service();
    github.failNext("POST /check-runs", "lost");
    await test.want(passed({ sha }));
    await test.reached("retried", 1);
    await test.hurry();
    await test.reached("done", 1);
    expect(shown()).toEqual(["success"]);
    expect(github.host.checkRuns.map(({ conclusion }) => conclusion)).toEqual(["success", "success"]);
  });
});
