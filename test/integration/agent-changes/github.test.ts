import fs from "node:fs";
import git from "isomorphic-git";
import { describe, expect, it } from "vitest";
import { completedCheck, finalStatus, pullRequestPayload } from "../../story/github-story.ts";
import { changeToEnd, startWriter, useWriter, writesAgent } from "../../support/agent-change-requests.ts";
import { databases } from "../../support/databases.ts";
import { startGitHubService } from "../../support/github-deliveries.ts";
import { specText } from "../../support/run-requests.ts";

const files = { "agents/ai-sdk/helper.json": specText("helper") };

describe.each(databases())("an agent change on GitHub, kept in %s", (engine) => {
  async function setUp(settings: Record<string, unknown> = {}) {
    const { model, env } = await startWriter();
    const service = await startGitHubService(files, { engine, env });
    await useWriter(service.app, settings);
    return { ...service, model };
  }

  it("becomes a pull request whose own evals cost nothing again", { timeout: 60_000 }, async () => {
    const service = await setUp();
    const { app, github, model, send } = service;
    model.script(...writesAgent("greeter"));
    const description = "Greets people, @octocat.\n\n<script>alert(1)</script> `x` | y\n# Title";
    const change = await changeToEnd(app, { name: "greeter", description });
    expect(change).toMatchObject({
      status: "proposed",
      html_url: "https://github.test/acme/agents/pull/101",
    });
    const pull = github.host.pulls.get(101);
    expect(pull).toMatchObject({
      title: "Add the agent greeter",
      headSha: change.commitSha,
      baseRef: "main",
    });
    expect(pull?.body).toContain("1 of 1 cases passed.\n\n| Case | Result | Judge |");
    expect(pull?.body).toContain(`[task](http://127.0.0.1/agent-changes/${change.task_id})`);
    // What others wrote is indented as code, so that nobody is mentioned and nothing is markup.
    for (const line of description.split("\n").filter(Boolean))
      expect(pull?.body).toContain(`\n    ${line}\n`);
    const { commit } = await git.readCommit({ fs, gitdir: github.served.gitdir, oid: change.commitSha });
    expect(commit.author.name).toBe("rollcall[bot]");
    expect(commit.message).toMatch(/^Add the agent greeter\n(.|\n)+\n\nRequested-by: admin\n$/);

    const runs = (await app.db.read("runs").count({ n: "*" }).first())?.n;
    const payload = pullRequestPayload("pull-request-opened", change.commitSha);
    const numbered = { ...payload, number: 101, pull_request: { ...payload.pull_request, number: 101 } };
    expect(await send({ event: "pull_request", payload: numbered })).toMatchObject({ state: "done" });
    expect(await finalStatus(service, change.commitSha)).toMatchObject({ state: "success" });
    await completedCheck(service, change.commitSha);
    const { pullRequest } = (await app.request("GET", "/pull-requests/101")).json;
    expect(pullRequest.agents).toMatchObject([{ agent: "greeter", cached: true, passedCount: 1 }]);
    expect((await app.db.read("runs").count({ n: "*" }).first())?.n).toBe(runs);
  });

  it("leads to the commit when it is made directly, and says what it lacks", {
    timeout: 60_000,
  }, async () => {
    const { app, github, model } = await setUp({ commitMode: "direct" });
    model.script(...writesAgent("first"));
    const change = await changeToEnd(app, { name: "first", description: "x" });
    expect(change).toMatchObject({
      status: "committed",
      html_url: `https://github.test/acme/agents/commit/${change.commitSha}`,
    });
    github.host.permissions.contents = false;
    model.script(...writesAgent("second"));
    expect(await changeToEnd(app, { name: "second", description: "x" })).toMatchObject({
      status: "failed",
      error: expect.stringContaining("may not write contents: give it the permission"),
      summary: expect.any(String),
    });
  });

  it("opens one pull request when the answers about it are lost", { timeout: 60_000 }, async () => {
    const { app, github, model } = await setUp();
    github.failNext("POST /git/refs", "lost");
    github.failNext("POST /pulls", "lost");
    model.script(...writesAgent("once"));
    const change = await changeToEnd(app, { name: "once", description: "x" });
    expect(change).toMatchObject({ status: "proposed", html_url: expect.stringMatching(/pull\/101$/) });
    expect([...github.host.pulls.keys()]).toEqual([101]);
    expect(model.requests).toHaveLength(3);
  });
});
