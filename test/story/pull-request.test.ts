import { describe, expect, it } from "vitest";
import { databases } from "../support/databases.ts";
import { evalToEnd } from "../support/eval-requests.ts";
import { startGitHubService } from "../support/github-deliveries.ts";
import { pushPayload } from "../support/github-payloads.ts";
import { endedRun, postRun } from "../support/run-requests.ts";
import { completedCheck, finalStatus, pullRequestPayload, statusesOf } from "./github-story.ts";
import { evalPath, greetingLine, startPoliteModel, supportAgent } from "./polite-model.ts";

const number = 12;

describe.each(databases())("a pull request on %s", (engine) => {
  it("breaks an agent, is told so, mends it, is merged, promoted, and answers", {
    timeout: 60_000,
  }, async () => {
    const model = await startPoliteModel();
    const polite = supportAgent("Be polite.");
    const service = await startGitHubService(polite, { engine, env: model });
    const { app, github, repository, send } = service;
    const main = (await app.request("GET", "/agents/support")).json.agent.commitSha;
    const promote = () => app.request("POST", "/agents/support/promote", { body: {} });

    // Promotion is refused before any evals have passed, and the base gets its own verdict.
    expect((await promote()).json.details).toEqual({ reason: "evals_missing" });
    expect(await evalToEnd(app, { agent: "support" })).toMatchObject({ status: "passed", passedCount: 2 });

    const broken = await repository.commit(supportAgent("Be brief."), "change", [main]);
    github.host.openPull({ number, headSha: broken });
    const delivery = { event: "pull_request", payload: pullRequestPayload("pull-request-opened", broken) };
    expect(await send(delivery)).toMatchObject({ state: "done", action: "opened" });
    const failure = await finalStatus(service, broken);
    expect(failure).toMatchObject({ context: "rollcall/evals", state: "failure" });
    expect(failure.description).toContain("greets politely");
    expect(statusesOf(service, broken).map(({ state }) => state)).toEqual(["pending", "failure"]);

    const check = await completedCheck(service, broken);
    expect(check).toMatchObject({ name: "Rollcall evals", conclusion: "failure" });
    expect(check.output.summary).toMatch(/support.*2\/2.*1\/2/);
    expect(check.output.annotations).toEqual([
      expect.objectContaining({ path: evalPath, start_line: greetingLine, annotation_level: "failure" }),
    ]);

    const fix = supportAgent("Be brief and polite.");
    const mended = await repository.commit(fix, "change", [broken]);
    github.host.openPull({ number, headSha: mended });
    await send({ event: "pull_request", payload: pullRequestPayload("pull-request-synchronize", mended) });
    expect(await finalStatus(service, mended)).toMatchObject({ state: "success" });
    expect(await completedCheck(service, mended)).toMatchObject({ conclusion: "success" });

    // What passed in the pull request is the very draft that comes with the merge.
    github.host.merge(number);
    const merged = await repository.commit(fix, "main", [main, mended]);
    await send({ event: "push", payload: pushPayload({ before: main, after: merged }) });
    const promoted = await promote();
    expect([promoted.status, promoted.json.version?.number]).toEqual([200, 1]);
    const run = await endedRun(app, await postRun(app, "support", "Where is it?"));
    expect(run).toMatchObject({
      status: "succeeded",
      version: "1",
      runEnvironment: "Production",
      output: "Dear customer, thank you. (Where is it?)",
    });
    const { json } = await app.request("GET", `/pull-requests/${number}`);
    expect(json.pullRequest).toMatchObject({
      headSha: mended,
      state: "success",
      statusPost: { state: "posted" },
      agents: [{ agent: "support", outcome: "evals", status: "passed", passedCount: 2, totalCount: 2 }],
    });
  });
});
