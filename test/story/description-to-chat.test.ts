import { describe, expect, it, onTestFinished } from "vitest";
import { changeToEnd, startWriter, useWriter, writesAgent } from "../support/agent-change-requests.ts";
import { installInBrowser } from "../support/chat-setup.ts";
import { databases } from "../support/databases.ts";
import { startGitHubService } from "../support/github-deliveries.ts";
import { pushPayload } from "../support/github-payloads.ts";
import { specText } from "../support/run-requests.ts";
import { startSlackSimulator } from "../support/slack-simulator.ts";
import { eventually, finalStatus, pullRequestPayload } from "./github-story.ts";

const files = { "agents/ai-sdk/helper.json": specText("helper") };

describe.each(databases())("a description on %s", (engine) => {
  it("becomes a pull request that passes, is merged and promoted, and answers in a Slack thread", {
    timeout: 60_000,
  }, async () => {
    const { model, env } = await startWriter();
    const slack = await startSlackSimulator();
    onTestFinished(() => slack.close());
    const service = await startGitHubService(files, { engine, env: { ...env, SLACK_API_URL: slack.apiUrl } });
    const { app, github, repository, send } = service;
    await useWriter(app);
    const main = (await app.request("GET", "/agents/helper")).json.agent.commitSha;

    model.script(...writesAgent("greeter", { labels: ["chat"] }));
    const change = await changeToEnd(app, { name: "greeter", description: "Greets whoever writes to it." });
    expect(change).toMatchObject({ status: "proposed", kind: "create" });
    const number = Number(change.html_url.split("/").at(-1));

    const payload = pullRequestPayload("pull-request-opened", change.commitSha);
    await send({
      event: "pull_request",
      payload: { ...payload, number, pull_request: { ...payload.pull_request, number } },
    });
    expect(await finalStatus(service, change.commitSha)).toMatchObject({ state: "success" });

    github.host.merge(number);
    await repository.setRef("refs/heads/main", change.commitSha);
    await send({ event: "push", payload: pushPayload({ before: main, after: change.commitSha }) });
    const promoted = await app.request("POST", "/agents/greeter/promote", { body: {} });
    expect(promoted.json.version).toMatchObject({ number: 1, stable: true });

    const { clientId, clientSecret, signingSecret } = slack;
    const secrets = { clientId, clientSecret, signingSecret };
    const made = await app.request("POST", "/chat-apps", {
      body: { name: "Helper", agentLabels: ["chat"], secrets },
    });
    const { id, state } = made.json.chatApp;
    expect(state).toBe("configuring");
    expect((await installInBrowser(app, id)).status).toBe(200);
    const ts = slack.nextTs();
    const text = `<@${slack.botUserId}> greeter: Good morning`;
    const event = {
      type: "app_mention",
      text,
      channel: "C1",
      user: "U1",
      ts,
      event_ts: ts,
      team: slack.teamId,
    };
    expect(await slack.deliver(`${app.url}/api/hooks/chat/${id}`, event)).toEqual([200]);

    const answer = await eventually("an answer in the thread", service, () =>
      slack.messages.find((each) => each.threadTs === ts && each.text.includes("Good morning")),
    );
    expect(answer.channel).toBe("C1");
    const { runs } = (await app.request("GET", "/runs?trigger=chat")).json;
    expect(runs).toMatchObject([
      { agent: "greeter", version: "1", runEnvironment: "Production", source: "Chat", runAs: "admin" },
    ]);
  });
});
