import { describe, expect, it } from "vitest";
import { startWithChat } from "../../support/chat-setup.ts";
import { databases } from "../../support/databases.ts";

const mention = {
  type: "app_mention",
  channel: "C1",
  user: "U1",
  text: "<@U0BOT> hi",
  ts: "1700000000.000001",
};

describe.each(databases())("events of Slack on %s", (engine) => {
  it("are refused alike when they are not signed, too old, too new, or for nobody", async () => {
    const chat = await startWithChat({ engine });
    const { slack, eventsUrl } = chat;
    const body = slack.envelope(mention);
    const send = async (headers: Record<string, string>, url = eventsUrl) => {
      const response = await fetch(url, { method: "POST", body, headers });
      return [response.status, await response.text()];
    };
    const refused = await send({});
    expect(refused[0]).toBe(401);
    expect(await send(slack.sign(body, { secret: "other" }))).toEqual(refused);
    expect(await send(slack.sign(body, { skew: -302 }))).toEqual(refused);
    expect(await send(slack.sign(body, { skew: 302 }))).toEqual(refused);
    expect(await send(slack.sign(`${body} `))).toEqual(refused);
    for (const id of ["cha_unknown", "..%2f", "%00"])
      expect(await send(slack.sign(body), `${chat.app.url}/api/hooks/chat/${id}`)).toEqual(refused);
    expect((await fetch(eventsUrl)).status).toBe(405);
    expect(await chat.deliveries()).toEqual([]);
    expect((await send(slack.sign(body)))[0]).toBe(200);
    await chat.settled();
    expect(await chat.runs()).toHaveLength(1);
  });

  it("are answered as Slack checks an address, also before the app is installed", async () => {
    const { slack, eventsUrl } = await startWithChat({ engine, installed: false });
    const post = async (body: string, type: string) => {
      const headers = { ...slack.sign(body), "content-type": type };
      const response = await fetch(eventsUrl, { method: "POST", body, headers });
      return [response.status, await response.json()];
    };
    const challenge = JSON.stringify({ type: "url_verification", challenge: "c0ffee", token: "x" });
    expect(await post(challenge, "application/json")).toEqual([200, { challenge: "c0ffee" }]);
    expect((await post("ssl_check=1&token=x", "application/x-www-form-urlencoded"))[0]).toBe(200);
    expect((await post("no json", "application/json"))[0]).toBe(400);
  });

  it("that come again, at once or later, start nothing again", async () => {
    const chat = await startWithChat({ engine });
    const options = { eventId: "Ev0SAME" };
    const together = await Promise.all(
      Array.from({ length: 6 }, () => chat.slack.post(chat.eventsUrl, mention, options)),
    );
    expect(together.map(({ status }) => status)).toEqual(Array(6).fill(200));
    await chat.settled();
    expect((await chat.slack.post(chat.eventsUrl, mention, options)).status).toBe(200);
    // The same message as another event, as Slack has them for a mention in a direct message.
    const direct = { ...mention, type: "message", channel_type: "im" };
    expect((await chat.slack.post(chat.eventsUrl, direct, { eventId: "Ev1" })).status).toBe(200);
    await chat.settled();
    expect(await chat.runs()).toHaveLength(1);
    expect(chat.slack.called("chat.postMessage")).toHaveLength(1);
    expect(await chat.deliveries()).toMatchObject([
      { state: "done" },
      { state: "ignored", reason: "The same message has come as another event." },
    ]);
    expect(JSON.stringify(await chat.deliveries())).not.toContain("verification-token-canary");
  });

  it("are left alone when nobody wrote to the bot, each with its reason", async () => {
    const chat = await startWithChat({ engine });
    const base = { ...mention, type: "message", channel_type: "im", channel: "D1" };
    const events: [object, object?][] = [
      [{ ...base, bot_id: "B1" }],
      [{ ...base, subtype: "message_changed" }],
      [{ ...base, channel_type: "channel" }],
      [{ ...base, user: "U0BOT" }],
      [{ type: "reaction_added" }],
      [mention, { teamId: "T0OTHER" }],
      [{ ...mention, team: "T0OTHER" }],
    ];
    for (const [event, options] of events)
      expect((await chat.slack.post(chat.eventsUrl, { ...event }, options)).status).toBe(200);
    await chat.settled();
    await chat.change({ enabled: false });
    await chat.slack.post(chat.eventsUrl, mention);
    await chat.settled();
    const deliveries = await chat.deliveries();
    expect(deliveries).toHaveLength(8);
    for (const { state, reason } of deliveries)
      expect([state, reason]).toEqual(["ignored", expect.stringMatching(/\.$/)]);
    expect([await chat.runs(), chat.slack.messages]).toEqual([[], []]);
  });

  it("take the installation back, but not one that is newer", async () => {
    const chat = await startWithChat({ engine });
    const state = async () => (await chat.app.request("GET", `/chat-apps/${chat.id}`)).json.chatApp.state;
    const gone = [
      [{ type: "app_uninstalled" }, "The app was uninstalled at Slack."],
      [{ type: "tokens_revoked", tokens: { bot: ["U0BOT"] } }, "The bot's token was revoked at Slack."],
    ] as const;
    for (const [event, why] of gone) {
      // Of a token before this one, however late it comes and whatever the clocks say.
      await chat.slack.post(chat.eventsUrl, event, { eventTime: Math.floor(Date.now() / 1000) + 200 });
      await chat.settled();
      expect(await state()).toBe("live");
      chat.slack.tokens.length = 0;
      await chat.slack.post(chat.eventsUrl, event);
      await chat.settled();
      const { json } = await chat.app.request("GET", `/chat-apps/${chat.id}`);
      expect(json.chatApp).toMatchObject({ state: "configuring", stateReason: why });
      const [row] = await chat.app.db.read("chat_apps");
      expect([row.tokens, row.team_id]).toEqual([null, null]);
      await chat.mention("hi");
      await chat.settled();
      expect((await chat.install()).status).toBe(200);
      expect(await state()).toBe("live");
    }
    expect(await chat.runs()).toEqual([]);
  });
});
