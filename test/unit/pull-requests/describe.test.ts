import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, describeHead } from "../../../src/pull-requests/describe.ts";
import { brokenAgent, failing, judgedAgent, judgedHead, passing, suite, verdict } from "./heads.ts";

const passed = (agent: string, cases: number) =>
  judgedAgent(
    { agent },
    { verdict: verdict(Array.from({ length: cases }, (_, index) => passing(`case ${index}`))) },
  );
const without = judgedAgent({ agent: "plain", outcome: "no_evals", suite_id: null });
const refunds = judgedAgent(
  {},
  { verdict: verdict([passing("a"), failing("polite answer"), failing("short answer")]) },
);

describe("describeHead", () => {
  it.each([
    [[], "No agents changed."],
    [[without], "1 agent changed; no evals."],
    [[without, without], "2 agents changed; no evals."],
    [[passed("one", 1)], "1 of 1 agent passed, 1 of 1 case"],
    [[passed("one", 3), passed("two", 4)], "2 of 2 agents passed, 7 of 7 cases"],
    [[passed("one", 3), without], "1 of 1 agent passed, 3 of 3 cases, 1 without evals"],
    [
      [passed("one", 20), passed("two", 20), refunds],
      "2 of 3 agents passed, 41 of 43 cases: refunds failed at 'polite answer'",
    ],
    [
      [refunds, brokenAgent()],
      "0 of 2 agents passed, 1 of 3 cases: agents/ai-sdk/broken.yaml line 3: `model` is missing.",
    ],
    [[brokenAgent()], "0 of 1 agent passed: agents/ai-sdk/broken.yaml line 3: `model` is missing."],
    [
      [judgedAgent({}, { own: suite("error", "Runs are gone.") })],
      "0 of 1 agent passed: evals of refunds could not be run: Runs are gone.",
    ],
  ])("%#: %s", (agents, text) => {
    expect(describeHead(judgedHead(agents))).toBe(text);
  });

  it("says the same as long as evals run", () => {
    const open = judgedAgent({ agent: "slow" }, { own: suite("running") });
    const texts = [
      judgedHead([open, judgedAgent({}, { own: suite("queued") })]),
      judgedHead([open, refunds]),
      judgedHead([open, passed("refunds", 3)]),
    ].map(describeHead);
    expect(new Set(texts)).toEqual(new Set(["Evals of 2 agents are running."]));
  });

  it("says what a head waits for, and why it ended early", () => {
    expect(describeHead(judgedHead([], { state: "awaiting_approval" }))).toBe(
      "Waiting for an operator to approve this commit.",
    );
    expect(describeHead(judgedHead([], { state: "planning" }))).toContain("Looking");
    expect(describeHead(judgedHead([], { state: "error", reason: "No\nsuch commit." }))).toBe(
      "No\ufffdsuch commit.",
    );
  });

  it("is one line of at most 140 characters, whatever files and cases are called", () => {
    const text = fc.string({ unit: "binary", maxLength: 400 });
    fc.assert(
      fc.property(text, text, text, (agent, name, message) => {
        for (const agents of [
          [judgedAgent({ agent }, { verdict: verdict([failing(name)]) })],
          [brokenAgent({ agent }, message)],
          [judgedAgent({ agent }, { own: suite("error", message) })],
        ]) {
          const line = describeHead(judgedHead(agents));
          expect(line.length).toBeLessThanOrEqual(140);
          expect(line.isWellFormed()).toBe(true);
          expect(line).not.toMatch(/[\r\n\u2028\u2029]/);
        }
      }),
    );
  });

  it("cuts without halving a character", () => {
    expect(cut("abcdef", 6)).toBe("abcdef");
    expect(cut("abcdefg", 6)).toBe("abcde…");
    expect(cut("abcd😀g", 6)).toBe("abcd…");
  });
});
