import { describe, expect, it } from "vitest";
import { startWithModel } from "../../support/chat-model.ts";
import { type ChatSetup, startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";

const replay = async (chat: ChatSetup, index = -1) => {
  const delivery = (await chat.deliveries()).at(index);
  const { status, json } = await chat.app.request("POST", `/deliveries/${delivery.id}/replay`);
  return { status, error: json.error as string | undefined };
};

describe.each(databases())("replaying messages of chats on %s", (engine) => {
  it("takes one again that nobody answered for a reason that is over", async () => {
    const chat = await startWithChat({ engine });
    await chat.change({ enabled: false });
    const thread = await chat.mention("hello");
    await chat.settled();
    const disabled = await replay(chat);
    expect(disabled).toEqual({ status: 409, error: expect.stringContaining("enable it") });
    await chat.change({ enabled: true });
    expect(await replay(chat)).toEqual({ status: 202 });
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["hello"]);
    const [run] = await chat.runs();
    expect(await chat.deliveries()).toMatchObject([{ state: "done", reason: null, run_id: run.id }]);
    const again = await replay(chat);
    expect(again).toEqual({ status: 409, error: expect.stringContaining(run.id) });
    expect(await chat.runs()).toHaveLength(1);
  });

  it("takes one again that was answered with why there is no run", async () => {
    const chat = await startWithChat({ engine, body: { agentLabels: [] } });
    const thread = await chat.mention("hello");
    await chat.settled();
    await chat.change({ agentLabels: ["chat"] });
    expect((await replay(chat)).status).toBe(202);
    await chat.settled();
    expect(chat.answers(thread)).toEqual([expect.stringMatching(/^No agent carries/), "hello"]);
    expect(await chat.deliveries()).toMatchObject([{ state: "done", run_id: expect.any(String) }]);
  });

  it("takes one again whose run could not start", async () => {
    const chat = await startWithChat({ engine, body: { emailDomains: ["acme.example"] } });
    await chat.app.member("olga", "viewer");
    chat.slack.users.set("U1", { email: "olga@acme.example" });
    const thread = await chat.mention("hello");
    await chat.settled();
    await chat.app.request("PATCH", "/members/olga", { body: { role: "operator" } });
    expect((await replay(chat)).status).toBe(202);
    await chat.settled();
    expect(chat.answers(thread).at(-1)).toBe("hello");
    const [failed, run] = await chat.runs();
    expect([failed, run]).toMatchObject([{ status: "failed" }, { status: "succeeded", run_as: "olga" }]);
    expect(await chat.deliveries()).toMatchObject([{ state: "done", run_id: run.id }]);
  });

  it("takes it once, however many ask for it at the same time", async () => {
    const chat = await startWithChat({ engine, body: { agentLabels: [] } });
    await chat.mention("hello");
    await chat.settled();
    await chat.change({ agentLabels: ["chat"] });
    const all = await Promise.all(Array.from({ length: 4 }, () => replay(chat)));
    for (const { status } of all) expect([202, 409]).toContain(status);
    await chat.settled();
    expect(await chat.runs()).toHaveLength(1);
  });

  it("refuses what was stopped, what is no message, and what has lost its app, and says what to do", async () => {
    const { model, ...chat } = await startWithModel({ engine });
    model.script({ text: "never", until: new Promise(() => {}) });
    const thread = await chat.mention("go on");
    await model.request(0);
    await chat.mention("and then this", { thread });
    expect((await replay(chat)).status).toBe(202);
    await chat.mention("stop", { thread });
    await chat.settled();
    await chat.slack.post(chat.eventsUrl, { type: "reaction_added" });
    const errors = [];
    for (const index of [0, 1, 2, 3]) errors.push(await replay(chat, index));
    expect(errors.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
    expect(errors[0]?.error).toContain("answered by the run");
    expect(errors[1]?.error).toContain("stopped after this message");
    expect(errors[2]?.error).toContain("write it again");
    expect(errors[3]?.error).toContain("Only messages");
    await chat.change({ enabled: false });
    await chat.mention("ignored");
    await chat.settled();
    await chat.app.request("DELETE", `/chat-apps/${chat.id}`);
    expect(await replay(chat)).toEqual({ status: 409, error: expect.stringContaining("was deleted") });
  });
});
