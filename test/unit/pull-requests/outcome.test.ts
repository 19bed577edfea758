import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { combine, commitStateOf, resultOf } from "../../../src/pull-requests/outcome.ts";
import { type HeadState, headStates } from "../../../src/pull-requests/schema.ts";
import { agentRow, brokenAgent, failing, judgedAgent, judgedHead, passing, suite, verdict } from "./heads.ts";

const passed = verdict([passing("one")]);
const failed = verdict([passing("one"), failing("two")]);

describe("what an agent has come to", () => {
  const row = agentRow();

  it("is its own suite's verdict", () => {
    expect(resultOf(row, suite("passed"), passed)).toEqual({ kind: "verdict", verdict: passed });
  });

  it("is a newer suite's verdict, also while its own goes on or when that could not be run", () => {
    const newer = verdict([failing("one")], { evalId: "eval_6" });
    for (const own of [suite("running"), suite("error", "Runs are gone."), suite("passed"), undefined])
      expect(resultOf(row, own, newer)).toEqual({ kind: "verdict", verdict: newer });
  });

  it("is open while its own suite is, whatever an older one came to", () => {
    const older = verdict([passing("one")], { evalId: "eval_4" });
    expect(resultOf(row, suite("queued"), older).kind).toBe("running");
    expect(resultOf(row, suite("running"), undefined).kind).toBe("running");
  });

  it("is an error that an older verdict does not hide", () => {
    const older = verdict([passing("one")], { evalId: "eval_4" });
    const error = "Runs of this suite are gone.";
    expect(resultOf(row, suite("error", error), older)).toEqual({ kind: "error", error });
    expect(resultOf(row, undefined, undefined).kind).toBe("error");
  });

  it("needs no suite where nothing can be run", () => {
    expect(resultOf(agentRow({ outcome: "invalid" }), undefined, passed).kind).toBe("invalid");
    expect(resultOf(agentRow({ outcome: "eval_invalid" }), undefined, passed).kind).toBe("invalid");
    expect(resultOf(agentRow({ outcome: "no_evals" }), undefined, undefined).kind).toBe("no_evals");
  });
});

describe("the state of a head", () => {
  const good = judgedAgent({}, { verdict: passed });
  const bad = judgedAgent({}, { verdict: failed });
  const open = judgedAgent({}, { own: suite("running") });
  const none = judgedAgent({ outcome: "no_evals", suite_id: null });

  it.each([
    ["nothing changed", [], "success"],
    ["no evals", [none], "success"],
    ["all passed", [good, none], "success"],
    ["one failed", [good, bad], "failure"],
    ["one is not valid", [good, brokenAgent()], "failure"],
    ["one could not be run", [good, judgedAgent({}, { own: suite("error") })], "failure"],
    ["one goes on beside one that failed", [bad, open], "running"],
    ["one goes on beside one that is not valid", [brokenAgent(), open], "running"],
  ])("%s: %s", (_what, agents, state) => {
    expect(judgedHead(agents).state).toBe(state);
  });

  it("follows a newer verdict after it has ended", () => {
    expect(judgedHead([good], { state: "failure" }).state).toBe("success");
    expect(judgedHead([bad], { state: "success" }).state).toBe("failure");
  });

  it("stays when it ended before its agents were looked at", () => {
    expect(judgedHead([], { state: "error", reason: "The commit is not known." }).state).toBe("error");
    expect(judgedHead([], { state: "failure", reason: "300 agents change." }).state).toBe("failure");
  });

  it.each(["awaiting_approval", "planning", "superseded"] as const)(
    "%s is not decided by agents",
    (state) => {
      expect(judgedHead([bad], { state }).state).toBe(state);
    },
  );
});

describe("a commit that is the head of several things", () => {
  const heads = (states: readonly HeadState[]) =>
    states.map((state, index) => ({ ...judgedHead([], { id: `prh_${index}`, state, reason: "x" }), state }));

  it.each([
    [["success", "running", "failure"], "pending"],
    [["success", "awaiting_approval"], "pending"],
    [["success", "planning"], "pending"],
    [["success", "error", "failure"], "failure"],
    [["success", "error"], "error"],
    [["success", "superseded"], "success"],
  ] as const)("%j: %s", (states, expected) => {
    expect(combine(heads(states))?.state).toBe(expected);
  });

  it("shows nothing without a head that counts", () => {
    expect(combine([])).toBeUndefined();
    expect(combine(heads(["superseded"]))).toBeUndefined();
  });

  it("shows the same in whatever order its heads come, decided by one in that state", () => {
    const states = fc.array(fc.constantFrom(...headStates), { maxLength: 6 });
    fc.assert(
      fc.property(states, (some) => {
        const combined = combine(heads(some));
        expect(combine(heads(some.toReversed()))?.state).toBe(combined?.state);
        if (combined) expect(commitStateOf(combined.deciding.state)).toBe(combined.state);
      }),
    );
  });
});
