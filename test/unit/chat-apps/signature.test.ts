import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isSlackSigned } from "../../../src/chat-apps/platforms/slack/signature.ts";

const secret = "8f742231b10e8888abcd99yyyzzz85a5";
const now = 1_531_420_618_000;

function request(body: string | Buffer, { at = now / 1000, key = secret, headers = {} } = {}) {
  const bytes = Buffer.from(body);
  const digest = createHmac("sha256", key).update(`v0:${at}:`).update(bytes).digest("hex");
  const all: Record<string, string> = {
    "x-slack-request-timestamp": String(at),
    "x-slack-signature": `v0=${digest}`,
    ...headers,
  };
  return { header: (name: string) => all[name], body: bytes };
}

describe("Slack's signature", () => {
  it("fits the example that Slack gives", () => {
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const headers = {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    };
    expect(isSlackSigned(secret, request(body, { headers }), now)).toBe(true);
  });

  it("is made over the raw bytes", () => {
    expect(isSlackSigned(secret, request(Buffer.from([0xff, 0xfe])), now)).toBe(true);
    const other = { ...request("a"), body: Buffer.from("b") };
    expect(isSlackSigned(secret, other, now)).toBe(false);
  });

  it("counts for five minutes, to both sides", () => {
    for (const [skew, fits] of [
      [-301, false],
      [-300, true],
      [0, true],
      [300, true],
      [301, false],
    ] as const)
      expect(isSlackSigned(secret, request("{}", { at: now / 1000 + skew }), now), String(skew)).toBe(fits);
  });

  it("is refused without a secret, with another one, and when a header is odd", () => {
    expect(isSlackSigned("", request("{}", { key: "" }), now)).toBe(false);
    expect(isSlackSigned("other", request("{}"), now)).toBe(false);
    for (const headers of [
      { "x-slack-signature": "" },
      { "x-slack-signature": "v0=" },
      { "x-slack-signature": "v1=00" },
      { "x-slack-request-timestamp": "" },
      { "x-slack-request-timestamp": "1e9" },
      { "x-slack-request-timestamp": " 1531420618" },
    ])
      expect(isSlackSigned(secret, request("{}", { headers }), now), JSON.stringify(headers)).toBe(false);
  });
});
