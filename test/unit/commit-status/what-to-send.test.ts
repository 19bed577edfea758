import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkRunToSend, statusToSend } from "../../../src/commit-status/what-to-send.ts";

const annotations = [{ path: "agents/ai-sdk/a.eval.yaml", line: 3, message: "No.", title: "polite" }];
const report = { title: "1 of 2", summary: "| a |", annotations };
const row = {
  sha: "c".repeat(40),
  state: "failure",
  description: "1 of 2 agents passed",
  report: JSON.stringify(report),
  check_run_id: null,
} as const;
const link = (sha: string) => `https://rollcall.example/commits/${sha}`;

describe("what is sent to a commit's host", () => {
  it("is one status under a fixed name, with a link where there is one", () => {
    expect(statusToSend(row, link)).toEqual({
      sha: row.sha,
      context: "rollcall/evals",
      state: "failure",
      description: "1 of 2 agents passed",
      targetUrl: `https://rollcall.example/commits/${row.sha}`,
    });
    expect(statusToSend(row, () => undefined).targetUrl).toBeUndefined();
  });

  it("has a description of at most 140 characters, whole ones, marked where it was cut", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 300 });
    fc.assert(
      fc.property(text, (description) => {
        const sent = [...statusToSend({ ...row, description }, link).description];
        const given = [...description];
        if (given.length <= 140) expect(sent).toEqual(given);
        else expect(sent).toEqual([...given.slice(0, 139), "…"]);
      }),
    );
    const sent = statusToSend({ ...row, description: "😀".repeat(141) }, link).description;
    expect(sent).toBe(`${"😀".repeat(139)}…`);
  });

  it("is a check run with the report, whose remarks come once it is over", () => {
    const sent = checkRunToSend(row, link);
    expect(sent).toEqual({
      sha: row.sha,
      name: "Rollcall evals",
      state: "failure",
      detailsUrl: link(row.sha),
      report,
      id: undefined,
    });
    const pending = checkRunToSend({ ...row, state: "pending", check_run_id: 7 }, link);
    expect(pending).toEqual({ ...sent, state: "pending", id: 7, report: { ...report, annotations: [] } });
  });
});
