import { describe, expect, it } from "vitest";
import { startWithModel } from "../../support/chat-model.ts";
import { addChatApp, startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";

const labels = ["chat"];

describe.each(databases())("who may do what in Slack on %s", (engine) => {
  it("lets nobody but whoever asked choose the agent that runs as them", async () => {
    const chat = await startWithChat({
      engine,
      agents: { one: { labels }, two: { labels } },
      body: { emailDomains: ["acme.example"] },
    });
    await chat.app.member("olga", "operator");
    chat.slack.users.set("U1", { email: "olga@acme.example" });
    const thread = await chat.mention("what olga wants", { user: "U1" });
    await chat.slack.message(({ threadTs }) => threadTs === thread);
    await chat.mention("2", { thread, user: "U2" });
    const questions = () => chat.answers(thread).filter((text) => text.startsWith("Which agent"));
    await expect.poll(() => questions().length, { timeout: 10_000 }).toBe(2);
    expect(await chat.runs()).toEqual([]);
    await chat.mention("1", { thread, user: "U1" });
    await expect
      .poll(chat.runs, { timeout: 10_000 })
      .toMatchObject([{ agent: "one", run_as: "olga", message: "what olga wants" }]);
    await chat.mention("two", { thread, user: "U2" });
    await chat.settled();
    expect((await chat.runs()).at(-1)).toMatchObject({ agent: "two", run_as: "admin" });
  });

  it("launches no agent that has lost the bot's label since it was offered", async () => {
    const chat = await startWithChat({ engine, agents: { one: { labels }, two: { labels: ["two"] } } });
    await chat.change({ agentLabels: ["chat", "two"] });
    const thread = await chat.mention("do it");
    await chat.slack.message(({ threadTs }) => threadTs === thread);
    await chat.change({ agentLabels: ["chat"] });
    await chat.mention("2", { thread });
    await chat.slack.message(({ text }) => text.startsWith("This bot may not launch two any more"));
    expect(await chat.runs()).toEqual([]);
    await chat.mention("1", { thread });
    await chat.settled();
    expect(await chat.runs()).toMatchObject([{ agent: "one", message: "do it" }]);
  });

  it("lets people stop what goes on in an app that was disabled", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    model.script({ text: "never", until: new Promise(() => {}) });
    const thread = await chat.mention("go on");
    await model.request(0);
    await chat.change({ enabled: false });
    await chat.mention("stop", { thread });
    await chat.settled();
    expect(await chat.runs()).toMatchObject([{ status: "cancelled" }]);
    expect(chat.answers(thread).at(-1)).toBe("Stopped.");
    await chat.mention("stop", { thread });
    await chat.settled();
    expect(chat.answers(thread).at(-1)).toBe("Stopped.");
  });

  it("answers nobody of a workspace that the app was moved away from", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "late", until: ready.promise });
    const thread = await chat.mention("first");
    await slack.message(({ threadTs }) => threadTs === thread);
    await chat.mention("second", { thread });
    const turns = async () => (await chat.app.db.read("chat_turns").pluck("id")).length;
    await expect.poll(turns, { timeout: 10_000 }).toBe(2);
    Object.assign(slack, { teamId: "T0OTHER" });
    expect((await chat.install()).status).toBe(200);
    ready.resolve();
    await chat.settled();
    await expect.poll(async () => (await chat.runs())[0].status, { timeout: 10_000 }).toBe("succeeded");
    expect(await chat.runs()).toHaveLength(1);
    expect(chat.answers(thread)).toEqual(["Working on it…"]);
    expect((await chat.deliveries())[1]).toMatchObject({
      state: "ignored",
      reason: expect.stringContaining("another workspace"),
    });
  });

  it("keeps two apps in one thread apart", async () => {
    const { model, ...one } = await startWithModel({ engine });
    const other = await addChatApp(one.app, one.slack, { body: { name: "Other", agentLabels: ["chat"] } });
    model.script({ text: "never", until: new Promise(() => {}) }, { text: "from the other" });
    const thread = await one.mention("go on");
    await model.request(0);
    await other.mention("you, too", { thread });
    await one.slack.message(({ text }) => text === "from the other");
    await other.mention("stop", { thread });
    await one.slack.message(({ text }) => text.startsWith("Nothing is under way"));
    expect(await one.runs()).toMatchObject([{ status: "running" }, { status: "succeeded" }]);
    await one.mention("stop", { thread });
    await one.settled();
    expect(model.requests[1]?.body.messages.at(-1).content).toBe("you, too");
  });

  it("calls nobody, whatever is in an answer", async () => {
    const chat = await startWithChat({ engine });
    const threads = [];
    for (const text of ["&lt;!channel&gt; @here &lt;@U2&gt;", "<!channel> <@U2> <!subteam^S1|@all>"])
      threads.push(await chat.mention(text));
    await chat.settled();
    for (const thread of threads) expect(chat.answers(thread)).toHaveLength(1);
    expect(chat.slack.pings).toEqual([]);
    for (const { fields } of chat.slack.called("chat.postMessage"))
      expect(fields).toMatchObject({ link_names: "false", unfurl_links: "false", unfurl_media: "false" });
  });
});
