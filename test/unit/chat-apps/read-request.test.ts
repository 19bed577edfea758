import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSlackRequest } from "../../../src/chat-apps/platforms/slack/read-request.ts";
import { AppError } from "../../../src/platform/errors.ts";

const read = (body: unknown, type = "application/json") =>
  readSlackRequest({
    header: (name) => (name === "content-type" ? type : undefined),
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  });

const message = {
  type: "message",
  channel_type: "im",
  channel: "D1",
  user: "U1",
  text: "hi",
  ts: "1.000001",
};
const envelope = { type: "event_callback", event_id: "Ev1", team_id: "T1", event_time: 5 };
const eventOf = (event: object) => {
  const request = read({ ...envelope, event });
  return request.kind === "event" ? request.event : undefined;
};

describe("reading requests of Slack", () => {
  it("answers its questions", () => {
    expect(read({ type: "url_verification", challenge: "abc" })).toEqual({
      kind: "answer",
      body: { challenge: "abc" },
    });
    expect(read("ssl_check=1&token=x", "application/x-www-form-urlencoded")).toMatchObject({
      kind: "answer",
    });
    expect(read({ type: "app_rate_limited" })).toMatchObject({ kind: "answer" });
  });

  it("takes new messages of people", () => {
    expect(eventOf(message)).toEqual({
      kind: "message",
      teamId: "T1",
      userTeamId: "T1",
      channel: "D1",
      thread: "1.000001",
      ts: "1.000001",
      user: "U1",
      text: "hi",
    });
    const mention = {
      ...message,
      type: "app_mention",
      channel_type: undefined,
      thread_ts: "0.5",
      team: "T2",
    };
    expect(eventOf(mention)).toMatchObject({ kind: "message", thread: "0.5", userTeamId: "T2" });
  });

  it.each([
    ["other channels", { ...message, channel_type: "channel" }],
    ["edits", { ...message, subtype: "message_changed" }],
    ["edited mentions", { ...message, edited: { user: "U1", ts: "2.0" } }],
    ["files", { ...message, subtype: "file_share" }],
    ["bots", { ...message, bot_id: "B1" }],
    ["nobody", { ...message, user: undefined }],
    ["no ts", { ...message, ts: "x" }],
    ["reactions", { type: "reaction_added" }],
    ["revoked tokens of users", { type: "tokens_revoked", tokens: { oauth: ["U1"] } }],
  ])("leaves %s alone and says why", (_what, event) => {
    expect(eventOf(event)).toEqual({ kind: "other", why: expect.stringMatching(/\.$/) });
  });

  it("takes a thread's message that is shown in the channel, too, for a new one", () => {
    expect(eventOf({ ...message, subtype: "thread_broadcast", thread_ts: "0.5" })).toMatchObject({
      kind: "message",
      thread: "0.5",
    });
  });

  it("knows when the app is gone", () => {
    expect(eventOf({ type: "app_uninstalled" })).toMatchObject({ kind: "removed", teamId: "T1" });
    expect(eventOf({ type: "tokens_revoked", tokens: { bot: ["U0"] } })).toMatchObject({ kind: "removed" });
  });

  it("refuses everything else with 400 and never breaks", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.json(), fc.string()),
        fc.constantFrom("application/json", "application/x-www-form-urlencoded"),
        (body, type) => {
          try {
            read(body, type);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect((error as AppError).status).toBe(400);
          }
        },
      ),
    );
  });
});
