import { describe, expect, it } from "vitest";
import { askWhich, chooseAgent, isStop, mostOffered, pickOf } from "../../../src/chat-apps/choose-agent.ts";
import { loginOf } from "../../../src/chat-apps/identify.ts";
import { splitText } from "../../../src/chat-apps/platforms/slack/split-text.ts";

const candidates = ["triage", "write-docs", "hello"];
const choose = (text: string, rest: Partial<Parameters<typeof chooseAgent>[0]> = {}) =>
  chooseAgent({ text, candidates, threadAgent: null, defaultAgent: null, ...rest });

describe("choosing the agent of a message", () => {
  it.each([
    ["triage: look at this", "triage", "look at this"],
    ["Triage look at this", "triage", "look at this"],
    ["write-docs, please:\nall", "write-docs", "please:\nall"],
    ["hello", "hello", "hello"],
    ["triage:", "triage", "triage:"],
  ])("by its name at the beginning: %j", (text, agent, rest) => {
    expect(choose(text, { threadAgent: "hello", defaultAgent: "hello" })).toEqual({
      kind: "run",
      agent,
      text: rest,
    });
  });

  it.each(["triager: x", "please triage", "unknown: x", "triage-x y", "note: triage"])(
    "by no name in %j",
    (text) => {
      expect(choose(text)).toEqual({ kind: "ask" });
    },
  );

  it("by the conversation, then by the bot's default, then by there being only one", () => {
    const text = "do it";
    expect(choose(text, { threadAgent: "hello", defaultAgent: "triage" })).toMatchObject({ agent: "hello" });
    expect(choose(text, { threadAgent: "gone", defaultAgent: "triage" })).toMatchObject({ agent: "triage" });
    expect(choose(text, { threadAgent: "gone", defaultAgent: "gone" })).toEqual({ kind: "ask" });
    expect(choose(text, { candidates: ["one"] })).toMatchObject({ agent: "one" });
  });

  it("says when there is none, or nothing to do", () => {
    expect(choose("do it", { candidates: [], threadAgent: "hello" })).toEqual({ kind: "nobody" });
    expect(choose("")).toEqual({ kind: "empty" });
  });
});

it.each([
  ["1", "triage"],
  [" #2. ", "write-docs"],
  ["Hello", "hello"],
  ["0", undefined],
  ["4", undefined],
  ["1 please", undefined],
  ["", undefined],
])("%j picks %s", (text, agent) => {
  expect(pickOf(text, candidates)).toBe(agent);
});

it("takes only a bare stop for one", () => {
  for (const text of ["stop", "Cancel!", "STOP."]) expect(isStop(text), text).toBe(true);
  for (const text of ["stop it", "don't stop", "", "unstop"]) expect(isStop(text), text).toBe(false);
});

it.each([
  ["Olga@Acme.example", "olga"],
  ["olga@evil.example", undefined],
  ["olga@sub.acme.example", undefined],
  ["olga@acme.example@evil.example", undefined],
  ["@acme.example", undefined],
  [undefined, undefined],
])("the address %s stands for the login %s", (email, login) => {
  expect(loginOf(email, ["acme.example"])).toBe(login);
});

it("offers no more agents than fit in one message", () => {
  const names = Array.from({ length: mostOffered }, (_, n) => `${n}`.padEnd(63, "x"));
  expect(splitText(askWhich(names), 3_000)).toHaveLength(1);
});
