import { describe, expect, it } from "vitest";
import { startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";
import type { SlackFault } from "../../support/slack-simulator.ts";

describe.each(databases())("posting to Slack on %s", (engine) => {
  it("waits as long as Slack asks, and loses and repeats nothing", async () => {
    const prepare = (slack: { burst: number }) => {
      slack.burst = 2;
    };
    const chat = await startWithChat({ engine, prepare });
    const threads = await Promise.all(["a", "b", "c", "d"].map((text) => chat.mention(text)));
    await chat.settled();
    expect(threads.map((thread) => chat.answers(thread))).toEqual([["a"], ["b"], ["c"], ["d"]]);
    const calls = chat.slack.called("chat.postMessage");
    expect(calls.some(({ status }) => status === 429)).toBe(true);
    expect(await chat.runs()).toHaveLength(4);
  });

  it.each<[string, SlackFault]>([
    ["errors of its server", { status: 503 }],
    ["answers that are none", "garbage"],
    ["troubles that pass", { error: "internal_error" }],
    ["rate limits", { status: 429, retryAfter: 1 }],
  ])("tries again after %s", async (_what, fault) => {
    const chat = await startWithChat({ engine });
    chat.slack.fail("chat.postMessage", fault, 2);
    const thread = await chat.mention("hello");
    await chat.settled();
    expect(chat.answers(thread)).toEqual(["hello"]);
    expect(await chat.runs()).toHaveLength(1);
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
});
