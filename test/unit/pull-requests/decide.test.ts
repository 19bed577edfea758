import { describe, expect, it } from "vitest";
import { decide } from "../../../src/pull-requests/decide.ts";
import type { PullRequest } from "../../../src/repositories/index.ts";
import { headRow, sha } from "./heads.ts";

const facts = (changes: Partial<PullRequest> = {}): PullRequest => ({
  number: 7,
  open: true,
  merged: false,
  draft: false,
  headSha: sha("a"),
  baseRef: "main",
  baseSha: sha("b"),
  author: "ann",
  authorBelongs: true,
  fork: false,
  ...changes,
});
const older = headRow({ id: "prh_0", head_sha: sha("9"), state: "success" });
const nothing = { end: [], begin: undefined };

describe("decide", () => {
  it("does nothing about what is as it was", () => {
    for (const state of ["awaiting_approval", "planning", "running", "success", "failure"] as const)
      expect(decide(facts(), [headRow({ state })])).toEqual(nothing);
  });

  it("ends the heads of other commits, whatever they came to", () => {
    const running = headRow({ id: "prh_2", head_sha: sha("8") });
    const { end } = decide(facts(), [older, running, headRow({ id: "prh_3" })]);
    const reason = "This commit was superseded by aaaaaaa.";
    expect(end).toEqual([
      { head: older, reason },
      { head: running, reason },
    ]);
  });

  it("takes up again the commit that a forced push went back to", () => {
    const back = headRow({ state: "superseded" });
    expect(decide(facts(), [back]).begin?.head).toBe(back);
  });

  it("takes up again what could not be planned", () => {
    const failed = headRow({ state: "error", reason: "The commit is not known." });
    expect(decide(facts(), [failed]).begin?.head).toBe(failed);
  });

  it("compares again what is to be merged elsewhere", () => {
    const head = headRow({ state: "success" });
    expect(decide(facts({ baseRef: "next" }), [head])).toEqual({
      end: [],
      begin: { head, renewed: expect.stringContaining("next") },
    });
  });

  it("begins nothing for a draft, but ends what was pushed over", () => {
    expect(decide(facts({ draft: true }), [older]).end).toHaveLength(1);
    expect(decide(facts({ draft: true }), [headRow({ state: "superseded" })])).toEqual(nothing);
    expect(decide(facts({ draft: true }), [headRow()])).toEqual(nothing);
  });

  it.each([
    ["closed", facts({ open: false })],
    ["gone", undefined],
  ])("ends what is open of one that is %s, and keeps what has ended", (_what, closed) => {
    const open = headRow({ id: "prh_2", head_sha: sha("8") });
    expect(decide(closed, [older, open])).toEqual({
      end: [{ head: open, reason: "The pull request was closed." }],
      begin: undefined,
    });
  });

  it("lets what was merged go on, unless it was never approved", () => {
    const merged = facts({ open: false, merged: true });
    expect(decide(merged, [headRow()])).toEqual(nothing);
    expect(decide(merged, [older, headRow()]).end).toHaveLength(1);
    expect(decide(merged, [headRow({ state: "awaiting_approval" })]).end).toHaveLength(1);
  });
});
