import { describe, expect, it } from "vitest";
import { analyzeDelivery } from "../../../src/github/analyze-delivery.ts";
import { examplePayload, type Payload } from "../../support/github-payloads.ts";

const analyze = (payload: Payload, repository = "octo-org/octo-repo") =>
  analyzeDelivery("merge_group", payload, { repository, branch: undefined });

const requested = () => examplePayload("merge-group-checks-requested");
const subject = {
  kind: "merge_group",
  branch: "gh-readonly-queue/main/pr-104-929f8209d40f77f4abc622a499c93a83babdbe64",
  headSha: "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d",
  baseSha: "380387fbc80638b734a49e1be1c4dfec1c01b33c",
  baseRef: "main",
};

describe("analyzeMergeGroup", () => {
  it("has GitHub's example looked at, with the branches' own names", () => {
    expect(analyze(requested())).toEqual({ result: "proposed", subject: { ...subject, destroyed: false } });
  });

  it("tells of a group that is no more", () => {
    expect(analyze({ ...requested(), action: "destroyed", reason: "dequeued" })).toEqual({
      result: "proposed",
      subject: { ...subject, destroyed: true },
    });
  });

  it("ignores other actions and other repositories", () => {
    expect(analyze({ ...requested(), action: "painted" }).result).toBe("ignored");
    expect(analyze(requested(), "acme/agents").result).toBe("ignored");
    expect(analyze(requested(), "Octo-Org/Octo-Repo").result).toBe("proposed");
  });

  it.each([
    ["a head that is no commit", { head_sha: "main" }],
    ["a branch that is a tag", { head_ref: "refs/tags/v1" }],
    ["a branch without a name", { head_ref: "refs/heads/" }],
    ["no base", { base_ref: undefined }],
  ])("cannot read %s", (_what, changes) => {
    const payload = requested();
    expect(analyze({ ...payload, merge_group: { ...payload.merge_group, ...changes } }).result).toBe(
      "unreadable",
    );
  });
});
