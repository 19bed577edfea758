import { describe, expect, it } from "vitest";
import {
  describeHead,
  describePost,
  describeState,
  isSettled,
} from "../../../src/console/assets/describe-head.js";
import type { HeadRecord } from "../../../src/console/assets/records.d.ts";
import type { PullRequestHead } from "../../../src/pull-requests/schema.ts";
import { agentRecord, headRecord } from "../../support/console-records.ts";

/** The compiler refuses this as soon as the page reads what the API does not answer. */
const readable = (head: PullRequestHead): HeadRecord => head;

const factsOf = (changes: Partial<HeadRecord>) =>
  Object.fromEntries(
    describeHead(readable(headRecord(changes))).facts.map((fact) => [
      fact.term,
      "text" in fact ? fact.text : fact.instant,
    ]),
  );
const onlyAgent = (changes: Parameters<typeof agentRecord>[0]) =>
  describeHead(headRecord({ agents: [agentRecord(changes)] })).agents[0];

describe("a head", () => {
  it("tells its base, author, who it runs as and what was posted", () => {
    expect(factsOf({ approvedBy: "olga" })).toEqual({
      Base: "main at bbbbbbbbbbbb",
      Author: "maria",
      "Runs as": "maria",
      "Approved by": "olga",
      "Commit status": "posted",
      Begun: "2026-01-05T10:00:00.000Z",
      Finished: "2026-01-05T10:00:04.000Z",
    });
  });

  it("tells what is not known yet, and nobody", () => {
    expect(factsOf({ baseSha: null, author: "", fork: true, runAs: null, finishedAt: null })).toEqual({
      Base: "main",
      Author: "an account that is gone, from a fork",
      "Runs as": "nobody: agents that need connections cannot run",
      "Commit status": "posted",
      Begun: "2026-01-05T10:00:00.000Z",
    });
  });

  it("of a merge group has no author", () => {
    expect(factsOf({ number: null, author: "" })).not.toHaveProperty("Author");
  });

  it("is called by its number, or by its merge queue's branch", () => {
    const title = (changes: Partial<HeadRecord>) => describeHead(headRecord(changes)).title;
    expect(title({})).toBe("Pull request 12");
    expect(title({ number: null, mergeBranch: "queue/main/pr-12" })).toBe("Merge queue, queue/main/pr-12");
    expect(title({ number: null })).toBe("Merge queue");
  });

  it.each([
    ["awaiting_approval", "Waiting for approval", "pending"],
    ["planning", "Looking for changed agents", "pending"],
    ["running", "Running", "pending"],
    ["success", "Passed", "good"],
    ["failure", "Failed", "bad"],
    ["error", "Error", "bad"],
    ["superseded", "Superseded", "quiet"],
  ] as const)("that is %s is called %s", (state, word, tone) => {
    expect(describeHead(headRecord({ state })).verdict).toEqual({ word, tone });
  });

  it("of a later release keeps the word of its state", () => {
    for (const state of ["paused", "constructor"])
      expect(describeHead(headRecord({ state: state as HeadRecord["state"] })).verdict).toEqual({
        word: state,
        tone: "quiet",
      });
  });

  it("can be approved while it waits for that, and then only", () => {
    const { headSha } = headRecord();
    expect(describeHead(headRecord({ state: "awaiting_approval" })).approval).toEqual({
      number: 12,
      headSha,
    });
    for (const state of ["planning", "running", "success", "failure", "error", "superseded"] as const)
      expect(describeHead(headRecord({ state })).approval).toBeUndefined();
  });

  it("says why there are no agents", () => {
    const line = (state: HeadRecord["state"]) => describeHead(headRecord({ state, agents: [] })).agentsLine;
    expect(line("awaiting_approval")).toContain("before an operator approves it");
    expect(line("planning")).toBe("The changed agents are not known yet.");
    expect(line("success")).toBe("No changed agents.");
    expect(describeHead(headRecord()).agentsLine).toBe("1 changed agent");
  });

  it("is settled when neither it nor its status changes any more", () => {
    expect(isSettled(headRecord({ state: "success" }))).toBe(true);
    expect(isSettled(headRecord({ state: "superseded", statusPost: { state: "none" } }))).toBe(true);
    expect(isSettled(headRecord({ state: "success", statusPost: { state: "pending" } }))).toBe(false);
    for (const state of ["awaiting_approval", "planning", "running"] as const)
      expect(isSettled(headRecord({ state }))).toBe(false);
  });
});

describe("a changed agent", () => {
  it("shows counts of head and base, and a section for each suite", () => {
    expect(onlyAgent({})).toEqual({
      key: "agents/ai-sdk/refunds.yaml",
      name: "refunds",
      verdict: { word: "Failed", tone: "bad" },
      lines: [
        "agents/ai-sdk/refunds.yaml, agents/ai-sdk/refunds.eval.yaml",
        "Head: 1 of 2 cases passed",
        "Base: 2 of 2 cases passed",
      ],
      problem: undefined,
      suites: [
        { id: "evl_head", label: "Cases of refunds" },
        { id: "evl_base", label: "Cases of refunds on the base" },
      ],
    });
  });

  it("says when there is nothing to compare with, and when results are older", () => {
    const { lines } = onlyAgent({ base: undefined, cached: true }) ?? {};
    expect(lines?.slice(1)).toEqual([
      "Head: 1 of 2 cases passed (results of an earlier run of the same texts)",
      "Base: no results to compare with",
    ]);
  });

  it("names file, line and column of a problem", () => {
    const problem = { path: "agents/ai-sdk/refunds.yaml", line: 3, column: 7, message: "Use a known key." };
    expect(onlyAgent({ outcome: "invalid", evalId: undefined, base: undefined, problem })).toMatchObject({
      verdict: { word: "Invalid spec", tone: "bad" },
      problem: { place: "agents/ai-sdk/refunds.yaml:3:7", message: "Use a known key." },
      suites: [],
    });
    expect(onlyAgent({ outcome: "eval_invalid", problem })?.verdict.word).toBe("Invalid eval file");
  });

  it("without evals says so", () => {
    const changes = { outcome: "no_evals", evalPath: null, evalId: undefined, base: undefined } as const;
    expect(onlyAgent(changes)).toMatchObject({
      verdict: { word: "No evals", tone: "quiet" },
      lines: ["agents/ai-sdk/refunds.yaml", "It has no eval file, so nothing was run."],
    });
  });

  it("whose suite is not made yet is queued", () => {
    const changes = { status: undefined, evalId: undefined, passedCount: undefined, totalCount: undefined };
    expect(onlyAgent(changes)?.verdict).toEqual({ word: "Queued", tone: "pending" });
  });
});

describe("what is said aloud", () => {
  it("has the state of each head", () => {
    const merge = headRecord({ number: null, mergeBranch: "queue/1", state: "running" });
    expect(describeState([headRecord(), merge])).toBe(
      "Pull request 12: failed. Merge queue, queue/1: running.",
    );
  });

  it("is a sentence when there is none", () => {
    expect(describeState([])).toBe("No pull request with this commit at its head is known here.");
  });

  it("has the reason why a status was not posted", () => {
    expect(describePost({ state: "skipped", reason: "The head has moved on." })).toBe(
      "not posted: The head has moved on.",
    );
    expect(describePost({ state: "none" })).toBe("not asked for");
  });
});
