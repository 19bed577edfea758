import { describe, expect, it } from "vitest";
import { endedEval, evalToEnd, postEval } from "../support/eval-requests.ts";
import { startGitHubService } from "../support/github-deliveries.ts";
import { examplePayload } from "../support/github-payloads.ts";
import { eventually, finalStatus, pullRequestPayload, statusesOf } from "./github-story.ts";
import { evalPath, specPath, startPoliteModel, supportAgent } from "./polite-model.ts";

const number = 12;

async function start() {
  const service = await startGitHubService(supportAgent("Be polite."), { env: await startPoliteModel() });
  const main = (await service.app.request("GET", "/agents/support")).json.agent.commitSha as string;
  const propose = (instructions: string) =>
    service.repository.commit(supportAgent(instructions), "change", [main]);
  const tell = (name: string, headSha: string) =>
    service.send({ event: "pull_request", payload: pullRequestPayload(name, headSha) });
  return { ...service, service, main, propose, tell };
}

describe("the status of a pull request", () => {
  it("is no better for suites with other texts that somebody queues for its commit", async () => {
    const { service, app, github, propose, tell } = await start();
    const headSha = await propose("Be brief.");
    github.host.openPull({ number, headSha });
    await tell("pull-request-opened", headSha);
    const failure = await finalStatus(service, headSha);
    expect(failure.state).toBe("failure");

    const polite = supportAgent("Be polite.");
    const forged = { spec: polite[specPath], eval: polite[evalPath] };
    const lenient = {
      eval: JSON.stringify({ cases: [{ name: "a", input: "x", assert: { contains: "x" } }] }),
    };
    for (const texts of [forged, lenient]) {
      const body = { agent: "support", commitSha: headSha, source: "ci", ...texts };
      const suite = await evalToEnd(app, body);
      expect(suite).toMatchObject({ status: "passed", statusPost: { state: "none" } });
    }
    const jobs = () => app.db.read("jobs").where({ state: "queued" }).orWhere({ state: "running" });
    await eventually("idle jobs", service, async () => ((await jobs()).length === 0 ? true : undefined));
    expect(statusesOf(service, headSha).at(-1)).toEqual(failure);

    // The commit's own texts count, whoever sends them; they still fail.
    const own = supportAgent("Be brief.");
    const body = { agent: "support", commitSha: headSha, spec: own[specPath], eval: own[evalPath] };
    expect(await evalToEnd(app, body)).toMatchObject({ status: "failed", statusPost: { state: "posted" } });
  });

  it("waits for an operator when the commit comes from a fork", async () => {
    const { service, app, github, propose, tell } = await start();
    const headSha = await propose("Be brief and polite.");
    github.host.openPull({
      number,
      headSha,
      headRepo: "stranger/agents",
      author: "stranger",
      association: "NONE",
    });
    await tell("pull-request-opened", headSha);
    const [waiting] = await eventually("a pending status", service, () => {
      const posted = statusesOf(service, headSha);
      return posted.length > 0 ? posted : undefined;
    });
    expect(waiting).toMatchObject({ state: "pending", description: expect.stringContaining("approve") });
    expect((await app.request("GET", "/evals?agent=support")).json.evals).toEqual([]);

    const approve = (key: string, sha: string) =>
      app.request("POST", `/pull-requests/${number}/approve`, { key, body: { headSha: sha } });
    expect((await approve(await app.member("vera", "viewer"), headSha)).status).toBe(403);
    const key = await app.member("olga", "operator");
    expect((await approve(key, "0".repeat(40))).status).toBe(409);
    expect((await approve(key, headSha)).json.pullRequest).toMatchObject({ approvedBy: "olga" });
    expect(await finalStatus(service, headSha)).toMatchObject({ state: "success" });
    const { json } = await app.request("GET", `/pull-requests?headSha=${headSha}`);
    expect(json.pullRequests).toMatchObject([
      { fork: true, author: "stranger", runAs: null, state: "success" },
    ]);
  });

  it("is told in the suite when the App may not post it", async () => {
    const { service, app, github, propose, tell } = await start();
    Object.assign(github.host.permissions, { statuses: false, checks: false });
    const headSha = await propose("Be brief.");
    github.host.openPull({ number, headSha });
    await tell("pull-request-opened", headSha);
    const shown = await eventually("a head that has ended", service, async () => {
      const { json } = await app.request("GET", `/pull-requests/${number}`);
      const { pullRequest } = json;
      const settled = pullRequest?.state === "failure" && pullRequest.statusPost.state === "skipped";
      return settled ? pullRequest : undefined;
    });
    const suite = await endedEval(app, shown.agents[0].evalId);
    expect(suite).toMatchObject({ source: "pull_request", status: "failed", statusPost: shown.statusPost });
    expect(suite.statusPost.reason).toContain("permission");
    expect(github.host.statuses).toEqual([]);
  });

  it("is posted on a merge group, too", async () => {
    const { service, github, repository, main, send } = await start();
    const branch = "gh-readonly-queue/main/pr-12-929f8209d40f77f4abc622a499c93a83babdbe64";
    const headSha = await repository.commit(supportAgent("Be brief."), branch, [main]);
    const payload = examplePayload("merge-group-checks-requested");
    const merge_group = {
      ...payload.merge_group,
      head_sha: headSha,
      head_ref: `refs/heads/${branch}`,
      base_sha: main,
      base_ref: "refs/heads/main",
    };
    const full_name = `${github.owner}/${github.repo}`;
    const repositoryPart = { ...payload.repository, full_name };
    const delivered = await send({
      event: "merge_group",
      payload: { ...payload, merge_group, repository: repositoryPart },
    });
    expect(delivered).toMatchObject({ state: "done", action: "checks_requested" });
    expect(await finalStatus(service, headSha)).toMatchObject({ state: "failure" });
  });

  it("costs nothing for what has passed before, and can be queued without that", async () => {
    const { service, app, github, propose, tell } = await start();
    const passed = await evalToEnd(app, { agent: "support" });
    const changed = await propose("Be brief.");
    github.host.openPull({ number, headSha: changed });
    await tell("pull-request-opened", changed);
    await finalStatus(service, changed);
    // A branch whose agent is as polite as the catalog's, compared with a base that is not.
    const reverted = await service.repository.commit(supportAgent("Be polite."), "main", [changed]);
    await service.repository.setRef("refs/heads/main", changed);
    github.host.openPull({ number, headSha: reverted });
    await tell("pull-request-synchronize", reverted);
    expect(await finalStatus(service, reverted)).toMatchObject({ state: "success" });
    const { json } = await app.request("GET", "/evals?agent=support&latest=true");
    expect(json.evals[0]).toMatchObject({ cached: true, cachedFrom: passed.id, passedCount: 2 });
    const anew = await endedEval(app, await postEval(app, { agent: "support", commitSha: reverted }));
    expect(anew).toMatchObject({ status: "passed", cached: false });
  });
});
