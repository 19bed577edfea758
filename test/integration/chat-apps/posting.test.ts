import { describe, expect, it } from "vitest";
import { startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";
import type { SlackFault } from "../../support/slack-simulator.ts";

describe.each(databases())("posting to Slack on %s", (engine) => {
  it("waits as long as Slack asks, and loses and repeats nothing", async () => {
    const prepare = (slack: { burst: number; secondMs: number }) => {
      // Slack asks for whole seconds, so that a window of one is the shortest.
      Object.assign(slack, { burst: 2, secondMs: 500 });
    };
    const chat = await startWithChat({ engine, prepare });
    const threads = await Promise.all(["a", "b", "c", "d"].map((text) => chat.mention(text)));
    await chat.settled();
    expect(threads.map((thread) => chat.answers(thread))).toEqual([["a"], ["b"], ["c"], ["d"]]);
    const calls = chat.slack.called("chat.postMessage");
    // What is said about progress is dropped instead.
    const refused = calls.filter(
      ({ status, fields }) => status === 429 && !/^Working/.test(fields.text ?? ""),
    );
    expect(refused.length).toBeGreaterThan(0);
    for (const { fields, at } of refused) {
      const next = calls.find((call) => call.fields.thread_ts === fields.thread_ts && call.at > at);
      expect((next?.at ?? 0) - at).toBeGreaterThanOrEqual(990);
    }
    expect(await chat.runs()).toHaveLength(4);
  });

  it("tries again after every trouble that passes, each conversation by itself", async () => {
    const troubles: SlackFault[] = [
      { status: 503 },
      "garbage",
      { error: "internal_error" },
      { status: 429, retryAfter: 1 },
    ];
    const chat = await startWithChat({ engine });
    for (const fault of [...troubles, ...troubles]) chat.slack.fail("chat.postMessage", fault);
    const threads = await Promise.all(troubles.map((_, n) => chat.mention(`hello ${n}`)));
    await chat.settled();
    expect(threads.map((thread) => chat.answers(thread))).toEqual(troubles.map((_, n) => [`hello ${n}`]));
    expect(chat.slack.called("chat.postMessage")).toHaveLength(3 * troubles.length);
    expect(await chat.runs()).toHaveLength(troubles.length);
  });

  it("gives up what Slack refuses, says so, and goes on with the next message", async () => {
    const chat = await startWithChat({ engine });
    chat.slack.fail("chat.postMessage", { error: "is_archived" });
    const thread = await chat.mention("one");
    await chat.settled();
    await chat.mention("two", { thread });
    await chat.settled();
    expect(chat.answers(thread)).toHaveLength(1);
    expect(await chat.deliveries()).toMatchObject([
      {
        state: "done",
        reason: "The answer could not be posted. Slack refused chat.postMessage: is_archived.",
      },
      { state: "done", reason: null },
    ]);
  });

  it("says that it has to be installed again once its token is no good", async () => {
    const chat = await startWithChat({ engine });
    chat.slack.tokens.length = 0;
    await chat.mention("hello");
    await chat.settled();
    const { json } = await chat.app.request("GET", `/chat-apps/${chat.id}`);
    expect(json.chatApp).toMatchObject({
      state: "configuring",
      stateReason: "Slack refused chat.postMessage: invalid_auth.",
    });
    await chat.install();
    const thread = await chat.mention("again");
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["again"]);
  });

  it("renews tokens before they expire, once however many need one", async () => {
    const prepare = (slack: { expiresIn: number | undefined }) => {
      slack.expiresIn = 600;
    };
    const chat = await startWithChat({ engine, prepare });
    const [first = ""] = chat.slack.tokens;
    chat.slack.expiresIn = 43_200;
    const threads = await Promise.all(["a", "b", "c", "d", "e"].map((text) => chat.mention(text)));
    await chat.settled();
    expect(threads.map((thread) => chat.answers(thread).length)).toEqual([1, 1, 1, 1, 1]);
    const renewals = chat.slack.called("oauth.v2.access").filter(({ fields }) => fields.grant_type);
    expect(renewals).toHaveLength(1);
    expect(chat.slack.tokens).toHaveLength(2);
    const [row] = await chat.app.db.read("chat_apps");
    expect(row.token_expires_at).toBeGreaterThan(Date.now() + 40_000_000);
    // What was renewed is used from then on.
    chat.slack.tokens.splice(chat.slack.tokens.indexOf(first), 1);
    const later = await chat.mention("later");
    await chat.settled();
    expect(chat.answers(later)).toEqual(["later"]);
  });

  it("goes on with the token that it has while Slack cannot renew it", async () => {
    const prepare = (slack: { expiresIn: number | undefined }) => {
      slack.expiresIn = 600;
    };
    const chat = await startWithChat({ engine, prepare });
    chat.slack.fail("oauth.v2.access", { status: 500 });
    const thread = await chat.mention("hello");
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["hello"]);
  });

  it("posts with the tokens of a new installation what was refused with those before", async () => {
    const chat = await startWithChat({ engine });
    const again = Promise.withResolvers<void>();
    chat.slack.fail("chat.postMessage", { error: "token_revoked", until: again.promise });
    const thread = await chat.mention("hello");
    await expect.poll(() => chat.slack.called("chat.postMessage").length, { timeout: 10_000 }).toBe(1);
    await chat.install();
    again.resolve();
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["hello"]);
    const { json } = await chat.app.request("GET", `/chat-apps/${chat.id}`);
    expect(json.chatApp.state).toBe("live");
  });

  it("posts no more of an answer once the app was deleted", async () => {
    const text = Array.from({ length: 40 }, (_, n) => `${n} ${"word ".repeat(60)}`).join("\n");
    const chat = await startWithChat({ engine });
    const deleted = Promise.withResolvers<void>();
    chat.slack.fail("chat.postMessage", { until: deleted.promise });
    const thread = await chat.mention(text);
    await chat.slack.message(({ threadTs }) => threadTs === thread);
    // What takes the token back waits, so that posting more would work.
    chat.slack.fail("auth.revoke", { status: 503 }, 5);
    expect((await chat.app.request("DELETE", `/chat-apps/${chat.id}`)).status).toBe(204);
    deleted.resolve();
    const jobs = () => chat.app.db.read("jobs").where({ kind: "chat.thread" });
    await expect.poll(async () => (await jobs()).length, { timeout: 10_000 }).toBe(0);
    expect(chat.answers(thread)).toHaveLength(1);
  });
});
