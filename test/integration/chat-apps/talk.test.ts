import { describe, expect, it } from "vitest";
import { startWithModel } from "../../support/chat-model.ts";
import { startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";
import { specText } from "../../support/run-requests.ts";

const labels = ["chat"];

describe.each(databases())("talking to agents in Slack on %s", (engine) => {
  it("answers a mention in its thread, with one run as the bot's owner", async () => {
    const chat = await startWithChat({ engine });
    const thread = await chat.mention("Hello &lt;you&gt; &amp; all");
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["Hello &lt;you&gt; &amp; all"]);
    const [run, ...others] = await chat.runs();
    expect(others).toEqual([]);
    const { json } = await chat.app.request("GET", `/runs/${run.id}`);
    expect(json.run).toMatchObject({
      agent: "echo",
      trigger: "chat",
      source: "Chat",
      runAs: "admin",
      status: "succeeded",
      message: "Hello <you> & all",
    });
    expect(await chat.deliveries()).toMatchObject([
      { state: "done", run_id: run.id, ref: chat.id, event: "app_mention" },
    ]);
    const direct = await chat.mention("directly", { direct: true });
    await chat.settled();
    expect(chat.answers(direct)).toEqual(["directly"]);
  });

  it("posts once that it works on it, and puts the answer in that message's place", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "**Noon**", until: ready.promise });
    const thread = await chat.mention("What time is it?");
    const message = await chat.slack.message(({ threadTs }) => threadTs === thread);
    expect(message.text).toBe("Working on it…");
    ready.resolve();
    await chat.settled();
    expect(message.versions).toEqual(["Working on it…", "*Noon*"]);
    expect(chat.slack.called("chat.postMessage")).toHaveLength(1);
  });

  it("goes on with the conversation and its agent, and says what was said before", async () => {
    const chat = await startWithChat({ engine, agents: { echo: { labels }, other: { labels } } });
    const thread = await chat.mention("echo: first");
    await chat.settled();
    await chat.mention("second", { thread });
    await chat.settled();
    const [one, two] = await chat.runs();
    expect([one.agent, one.message, two.agent]).toEqual(["echo", "first", "echo"]);
    expect(two.message).toBe(
      "Earlier in this conversation:\n\nUser:\n> first\n\necho:\n> first\n\nThe message to answer now:\n\nsecond",
    );
    await chat.mention("other third", { thread });
    await chat.settled();
    expect((await chat.runs()).map(({ agent }) => agent)).toEqual(["echo", "echo", "other"]);
  });

  it("asks which agent is meant, and takes the next message for the choice", async () => {
    const agents = { one: { labels }, two: { labels }, secret: { labels: ["other"] } };
    const chat = await startWithChat({ engine, agents });
    const thread = await chat.mention("secret: do it");
    const question = await chat.slack.message(({ threadTs }) => threadTs === thread);
    expect(question.text).toMatch(/which agent.*\n1\. one\n2\. two$/is);
    await chat.mention("7", { thread });
    await chat.slack.message(({ text }) => text.startsWith("Answer with a number from 1 to 2"));
    expect(await chat.runs()).toEqual([]);
    await chat.mention("2", { thread });
    await chat.settled();
    expect(await chat.runs()).toMatchObject([{ agent: "two", message: "secret: do it" }]);
    expect(await chat.deliveries()).toMatchObject([
      { state: "done", run_id: expect.any(String) },
      { state: "ignored", reason: "It names none of the agents that were offered.", run_id: null },
      { state: "done", reason: "It chose the agent two for the message before.", run_id: null },
    ]);
    await chat.change({ defaultAgent: "one" });
    await chat.mention("by default");
    await chat.settled();
    expect((await chat.runs()).at(-1)).toMatchObject({ agent: "one", message: "by default" });
  });

  it("runs one message of a thread at a time, in the order in which they were written", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "A", until: ready.promise }, { text: "B" }, { text: "C" });
    const thread = await chat.mention("first");
    await model.request(0);
    const [second, third] = [chat.slack.nextTs(), chat.slack.nextTs()];
    await chat.mention("third", { thread, ts: third });
    await chat.mention("second", { thread, ts: second });
    const turns = async () => (await chat.app.db.read("chat_turns").pluck("id")).length;
    await expect.poll(turns, { timeout: 10_000 }).toBe(3);
    expect(await chat.runs()).toHaveLength(1);
    ready.resolve();
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["A", "B", "C"]);
    const asked = model.requests.map(({ body }) => body.messages.at(-1).content as string);
    expect(asked.map((text) => text.split("\n").at(-1))).toEqual(["first", "second", "third"]);
  });

  it("stops what is under way in the thread, and what waits there", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    model.script({ text: "never", until: new Promise(() => {}) });
    const thread = await chat.mention("go on");
    await model.request(0);
    await chat.mention("and then this", { thread });
    await chat.mention("Stop!", { thread });
    await chat.settled();
    expect(await chat.runs()).toMatchObject([{ status: "cancelled" }]);
    expect(chat.slack.messages.filter(({ threadTs }) => threadTs === thread).at(-1)?.text).toBe("Stopped.");
    expect(await chat.deliveries()).toMatchObject([
      { state: "done" },
      { state: "ignored", reason: "It was stopped before it began." },
      { state: "done", reason: "It stopped what was under way." },
    ]);
    await chat.mention("stop", { thread });
    await chat.settled();
    expect(chat.answers(thread).at(-1)).toBe("Nothing is under way in this thread.");
    model.script({ text: "never", until: new Promise(() => {}) });
    await chat.mention("again", { thread });
    await model.request(1);
    // In a direct message Slack may tell of one message twice.
    const ts = chat.slack.nextTs();
    for (let n = 0; n < 2; n++) {
      await chat.mention("cancel", { thread, ts });
      await chat.settled();
    }
    expect((await chat.runs()).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    expect(chat.answers(thread).filter((text) => text.startsWith("Nothing is under way"))).toHaveLength(1);
  });

  it("says of a failure only what everybody may read", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    model.script({ status: 401, message: "key sk-canary-0123456789abcdef is bad" });
    const thread = await chat.mention("fail");
    await chat.settled();
    const [text = ""] = chat.answers(thread);
    expect(text).toContain("The model provider refused the workspace's credentials.");
    expect(text).not.toContain("canary");
  });

  it("makes a failed run of what cannot start", async () => {
    const chat = await startWithChat({ engine });
    await chat.app.member("olga", "operator");
    await chat.change({ owner: "olga" });
    await chat.app.request("PATCH", "/members/olga", { body: { role: "viewer" } });
    const thread = await chat.mention("do it");
    await chat.settled();
    const [run] = await chat.runs();
    expect(run).toMatchObject({ status: "failed", failure_code: "not_permitted", run_as: "olga" });
    expect(chat.answers(thread)[0]).toContain("may not start runs");
    expect(await chat.deliveries()).toMatchObject([{ state: "failed", run_id: run.id }]);
  });

  it("runs the stable version of an agent whose draft is broken", async () => {
    const chat = await startWithChat({ engine, agents: { echo: { labels }, other: { labels } } });
    await chat.app.db.transaction(async (tx) => {
      const agent = await tx("agents").where({ name: "echo" }).first();
      const { workspaceId: workspace_id } = chat.app;
      const { framework, spec_sha, commit_sha } = agent;
      const version = {
        workspace_id,
        agent: "echo",
        number: 1,
        framework,
        spec_sha,
        eval_sha: null,
        commit_sha,
      };
      await tx("agent_versions").insert({
        ...version,
        stable: 1,
        promoted_by: "admin",
        created_at: Date.now(),
      });
    });
    await chat.app.commit({ "agents/ai-sdk/echo.json": specText("echo", { labels, model: 7 }) });
    await chat.mention("echo: still there");
    await chat.settled();
    expect(await chat.runs()).toMatchObject([{ agent: "echo", version: "1", status: "succeeded" }]);
  });

  it("splits long answers and never leaves a code block open", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    const code = Array.from({ length: 400 }, (_, n) => `const line${n} = "<&>";`).join("\n");
    model.script({ text: `Here:\n\`\`\`ts\n${code}\n\`\`\`\nDone.` });
    const thread = await chat.mention("long");
    await chat.settled();
    const parts = chat.answers(thread);
    expect(parts.length).toBeGreaterThan(4);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(3_000);
      expect((part.split("```").length - 1) % 2).toBe(0);
    }
    for (const n of [0, 200, 399]) expect(parts.join("\n")).toContain(`const line${n} = "&lt;&amp;&gt;";`);
    expect(parts.at(-1)).toMatch(/Done\.$/);
  });

  it("tells when no agent may be launched and when a message says nothing", async () => {
    const chat = await startWithChat({ engine, body: { agentLabels: [] } });
    const thread = await chat.mention("hello");
    await chat.settled();
    expect(chat.answers(thread)[0]).toMatch(/^No agent carries a label/);
    await chat.change({ agentLabels: ["chat"] });
    const empty = await chat.mention("");
    await chat.settled();
    expect(chat.answers(empty)[0]).toContain("echo");
    expect(await chat.runs()).toEqual([]);
    expect(await chat.deliveries()).toMatchObject([{ state: "ignored" }, { state: "ignored" }]);
  });

  it("runs as the member whose login a verified address of a named domain gives", async () => {
    const chat = await startWithChat({ engine, body: { emailDomains: ["acme.example"] } });
    await chat.app.member("Olga", "operator");
    await chat.app.member("vera", "viewer");
    const users = {
      U1: { email: "olga@acme.example" },
      U2: { email: "olga@acme.example", confirmed: false },
      U3: { email: "admin@evil.example" },
      U4: { email: "vera@acme.example" },
      U5: { email: "nobody@acme.example" },
    };
    for (const [id, user] of Object.entries(users)) chat.slack.users.set(id, user);
    for (const user of [...Object.keys(users), "U6"]) {
      await chat.mention(user, { user });
      await chat.settled();
    }
    const rows = await chat.runs();
    expect(rows.map(({ message, run_as, failure_code }) => [message, run_as, failure_code])).toEqual([
      ["U1", "Olga", null],
      ["U2", "admin", null],
      ["U3", "admin", null],
      ["U4", "vera", "not_permitted"],
      ["U5", "admin", null],
      ["U6", "admin", null],
    ]);
  });
});
