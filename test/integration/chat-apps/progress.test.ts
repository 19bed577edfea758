import { describe, expect, it } from "vitest";
import { startWithModel } from "../../support/chat-model.ts";
import { databases } from "../../support/databases.ts";

const goesOn = (text: string) => ({ text, until: new Promise<void>(() => {}) });

describe.each(databases())("how far a run is, in Slack on %s", (engine) => {
  it("is shown by what it has said so far, in the message that its answer takes the place of", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "**Noon**, <!channel>", until: ready.promise });
    const thread = await chat.mention("What time is it?");
    const message = await slack.message(({ threadTs }) => threadTs === thread);
    await chat.say("**No");
    await slack.message(({ text }) => text === "*No* …");
    await chat.say("on**, <!ch");
    await slack.message(({ text }) => text === "*Noon*, &lt;!ch …");
    ready.resolve();
    await chat.settled();
    expect(message.versions).toEqual([
      "Working on it…",
      "*No* …",
      "*Noon*, &lt;!ch …",
      "*Noon*, &lt;!channel&gt;",
    ]);
    expect(slack.called("chat.postMessage")).toHaveLength(1);
    expect(slack.pings).toEqual([]);
  });

  it("is told by a model that streams, while it streams", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const rest = Promise.withResolvers<void>();
    const whole = "One, two, three, four, five, six, seven, eight.";
    model.script({ text: whole, stallUntil: rest.promise });
    const thread = await chat.mention("Count");
    const shown = await slack.message(({ text }) => /^One, .* …$/.test(text));
    const soFar = shown.text.slice(0, -1).trimEnd();
    expect(whole.startsWith(soFar)).toBe(true);
    expect(soFar.length).toBeLessThan(whole.length);
    rest.resolve();
    await chat.settled();
    expect(chat.answers(thread)).toEqual([whole]);
    expect(slack.called("chat.postMessage")).toHaveLength(1);
  });

  it("changes nothing while nothing more was said, and stores no text", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "x".repeat(4_000), until: ready.promise });
    const thread = await chat.mention("Write a lot");
    await slack.message(({ threadTs }) => threadTs === thread);
    await chat.say("x".repeat(4_000));
    const shown = await slack.message(({ text }) => text.startsWith("xxx"));
    expect(shown.text).toMatch(/^x{2900,2998} …$/);
    const [{ progress, revision }] = await chat.app.db
      .read("chat_turns")
      .join("chat_threads", "chat_threads.id", "chat_turns.thread_id")
      .select("progress", "revision");
    expect(progress).toHaveLength(64);
    // Another look, which is a revision of the conversation.
    const looks = async () => Number((await chat.app.db.read("chat_threads").first()).revision);
    await expect.poll(looks, { timeout: 10_000 }).toBeGreaterThanOrEqual(Number(revision) + 1);
    expect(shown.versions).toHaveLength(2);
    ready.resolve();
    await chat.settled();
  });

  it("is left out while Slack limits it, which holds up neither answers nor other messages", async () => {
    const prepare = (slack: { updateBurst: number; secondMs: number }) => {
      // One message may be changed every 30 seconds.
      Object.assign(slack, { updateBurst: 1, secondMs: 25_000 });
    };
    const { model, slack, ...chat } = await startWithModel({ engine, prepare });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "Answer", until: ready.promise }, { text: "Second" });
    const thread = await chat.mention("first");
    await slack.message(({ threadTs }) => threadTs === thread);
    const updates = () => slack.called("chat.update").map(({ status }) => status);
    await chat.say("half of");
    await expect.poll(updates, { timeout: 10_000 }).toEqual([200]);
    await chat.say(" it");
    await expect.poll(updates, { timeout: 10_000 }).toEqual([200, 429]);
    slack.updateBurst = 100;
    ready.resolve();
    await chat.settled();
    // Had the conversation waited as long as Slack asked for that one, nothing would be here yet.
    expect(chat.answers(thread)).toEqual(["Answer"]);
    expect(updates()).toEqual([200, 429, 200]);
    const other = await chat.mention("second");
    await chat.settled();
    expect(chat.answers(other)).toEqual(["Second"]);
  });

  it("is not tried in other conversations of the app either before Slack's time is over", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    model.script(goesOn("never"), goesOn("never"));
    slack.fail("chat.postMessage", { status: 429, retryAfter: 600 });
    const first = await chat.mention("first");
    await expect.poll(() => slack.called("chat.postMessage").length, { timeout: 10_000 }).toBe(1);
    const second = await chat.mention("second");
    await model.request(1);
    await chat.mention("stop", { thread: second });
    const stopped = await slack.message(({ threadTs }) => threadTs === second);
    expect(stopped.text).toBe("Stopped.");
    expect(slack.called("chat.postMessage").map(({ status }) => status)).toEqual([429, 200]);
    const looks: { run_at: number }[] = await chat.app.db.read("jobs").where({ kind: "chat.wake" });
    expect(Math.max(...looks.map(({ run_at }) => run_at))).toBeGreaterThan(Date.now() + 500_000);
    await chat.mention("stop", { thread: first });
    await chat.settled();
  });

  it("makes an answer that is limited wait for as long as Slack asks", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const ready = Promise.withResolvers<void>();
    model.script({ text: "Answer", until: ready.promise });
    const thread = await chat.mention("first");
    await slack.message(({ threadTs }) => threadTs === thread);
    slack.fail("chat.update", { status: 429, retryAfter: 1 });
    ready.resolve();
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["Answer"]);
    const [refused, taken] = slack.called("chat.update");
    expect((taken?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it("is looked at the more seldom the more conversations of an app are under way", async () => {
    const { model, slack, ...chat } = await startWithModel({ engine });
    const many = 12;
    model.script(...Array.from({ length: many }, () => goesOn("never")));
    const threads = [];
    for (let n = 0; n < many; n++) threads.push(await chat.mention(`${n}`));
    await model.request(many - 1);
    for (const thread of threads) await slack.message(({ threadTs }) => threadTs === thread);
    // The last one to be looked at knows of all the others.
    const planned = async () => {
      const looks: { run_at: number; created_at: number }[] = await chat.app.db
        .read("jobs")
        .where({ kind: "chat.wake", state: "queued" });
      return Math.max(0, ...looks.map(({ run_at, created_at }) => run_at - created_at));
    };
    await expect.poll(planned, { timeout: 10_000 }).toBeGreaterThanOrEqual((many * 60_000) / 40);
    for (const thread of threads) await chat.mention("stop", { thread });
    await chat.settled();
    expect(slack.called("chat.update").some(({ status }) => status === 429)).toBe(false);
  });
});
