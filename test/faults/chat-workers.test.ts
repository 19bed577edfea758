import { describe, expect, it, onTestFinished } from "vitest";
import { addChatApp } from "../support/chat-setup.ts";
import { databases, type Engine } from "../support/databases.ts";
import { startRunCluster } from "../support/run-cluster.ts";
import { agentFiles } from "../support/run-requests.ts";
import { startSlackSimulator } from "../support/slack-simulator.ts";

const files = agentFiles({
  echo: { labels: ["echo"] },
  thinker: { labels: ["thinker"], model: "openai-compatible/test-model" },
});
const never = new Promise<void>(() => {});
const now = Promise.resolve();

/** A service without a worker, whose chat app launches the agent of that label, and a way to start workers for it. */
async function startChat(engine: Engine, label: string) {
  const slack = await startSlackSimulator();
  onTestFinished(() => slack.close());
  const cluster = await startRunCluster(engine, files);
  const env = { SLACK_API_URL: slack.apiUrl };
  const app = await cluster.join({ ...env, ROLLCALL_ROLES: "web,scheduler" });
  const chat = await addChatApp(app, slack, { body: { agentLabels: [label] } });
  const worker = async () => (await cluster.spawn({ ...env, ROLLCALL_ROLES: "worker" })).script;
  return { ...chat, model: cluster.simulator, worker };
}

describe.each(databases())("a worker that dies after Slack took a message on %s", (engine) => {
  it("has that part of the answer posted a second time, and every other one once", async () => {
    const chat = await startChat(engine, "echo");
    const parts = ["one ", "two ", "three "].map((word) => word.repeat(2_800 / word.length).trim());
    chat.slack.fail("chat.postMessage", { until: now });
    chat.slack.fail("chat.postMessage", { until: never });
    const first = await chat.worker();
    const thread = await chat.mention(parts.join("\n"));
    await chat.slack.message(({ text }) => text.startsWith("two"));
    await first.kill("SIGKILL");
    await chat.worker();
    await chat.settled();
    const [one, two, three] = parts;
    expect(chat.answers(thread)).toEqual([one, two, two, three]);
    expect(await chat.runs()).toMatchObject([{ status: "succeeded", attempt: 1 }]);
    expect(await chat.deliveries()).toMatchObject([{ state: "done", reason: null }]);
  });

  it("leaves a message behind that says to wait, and the answer comes in one of its own", async () => {
    const chat = await startChat(engine, "thinker");
    chat.model.script({ text: "never", until: never });
    chat.slack.fail("chat.postMessage", { until: never });
    const first = await chat.worker();
    const thread = await chat.mention("Think");
    await chat.slack.message(({ threadTs }) => threadTs === thread);
    await first.kill("SIGKILL");
    chat.model.script({ text: "Thought" });
    await chat.worker();
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["Working on it…", "Thought"]);
    expect(await chat.runs()).toMatchObject([{ status: "succeeded" }]);
  });
});
