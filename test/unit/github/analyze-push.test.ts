import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeDelivery } from "../../../src/github/analyze-delivery.ts";
import { examplePayload, pushPayload } from "../../support/github-payloads.ts";

const served = { repository: "acme/agents", branch: undefined };
const analyze = (payload: unknown, where: { repository: string; branch: string | undefined } = served) =>
  analyzeDelivery("push", payload, where);
const sha = fc
  .array(fc.constantFrom(..."0123456789abcdef"), { minLength: 40, maxLength: 40 })
  .map((digits) => digits.join(""));
const zeros = "0".repeat(40);

describe("analyzePush", () => {
  it("follows GitHub's example of a push to the default branch", () => {
    expect(
      analyze(examplePayload("push"), { repository: "Codertocat/Hello-World", branch: undefined }),
    ).toEqual({
      result: "changed",
      defaultBranch: "master",
    });
  });

  it("takes names of repositories as GitHub does, whatever their case", () => {
    expect(analyze(pushPayload(), { ...served, repository: "Acme/AGENTS" }).result).toBe("changed");
  });

  it.each([
    ["a tag", examplePayload("push-tag"), "Codertocat/Hello-World", "tag"],
    ["a tag that is deleted", examplePayload("push-tag-deleted"), "Codertocat/Hello-World", "tag"],
    ["a tag with the branch's name", pushPayload({ ref: "refs/tags/main" }), "acme/agents", "tag"],
    ["a tag like a branch", pushPayload({ ref: "refs/tags/refs/heads/main" }), "acme/agents", "tag"],
    ["a longer name", pushPayload({ ref: "refs/heads/maintenance" }), "acme/agents", "maintenance"],
    ["a name that ends alike", pushPayload({ ref: "refs/heads/x/main" }), "acme/agents", "x/main"],
    ["another case", pushPayload({ ref: "refs/heads/Main" }), "acme/agents", "Main"],
    ["a deleted branch", pushPayload({ deleted: true, after: zeros }), "acme/agents", "deleted"],
    ["no commit", pushPayload({ after: zeros }), "acme/agents", "deleted"],
    ["another repository", pushPayload(), "acme/other", "acme/agents"],
    ["a fork of that name", pushPayload(), "evil/agents", "acme/agents"],
  ])("ignores %s and says why", (_what, payload, repository, word) => {
    expect(analyze(payload, { repository, branch: undefined })).toEqual({
      result: "ignored",
      reason: expect.stringContaining(word),
    });
  });

  it("follows the branch that was chosen and no other", () => {
    const chosen = { ...served, branch: "release" };
    expect(analyze(pushPayload({ ref: "refs/heads/release" }), chosen)).toEqual({ result: "changed" });
    expect(analyze(pushPayload(), chosen).result).toBe("ignored");
  });

  it("tells the commit before, where there was one", () => {
    const before = "1".repeat(40);
    expect(analyze(pushPayload({ before }))).toMatchObject({ result: "changed", before });
    expect(analyze(pushPayload({ before: zeros }))).not.toHaveProperty("before");
  });

  it.each([
    {},
    null,
    [],
    "text",
    pushPayload({ ref: 5 }),
    pushPayload({ after: "main" }),
    { ref: "refs/heads/main" },
  ])("cannot read %j", (payload) => {
    expect(analyze(payload).result).toBe("unreadable");
  });

  it("is followed exactly when the whole ref is the branch's", () => {
    const ref = fc.oneof(
      fc.constantFrom("refs/heads/main", "refs/heads/main/", "heads/main", "main", "refs/heads/"),
      fc.string().map((name) => `refs/heads/${name}`),
      fc.string(),
    );
    fc.assert(
      fc.property(ref, sha, sha, fc.boolean(), fc.boolean(), (name, before, after, deleted, forced) => {
        const { result } = analyze(pushPayload({ ref: name, before, after, deleted, forced }));
        const expected = name === "refs/heads/main" && !deleted && after !== zeros;
        expect(result).toBe(expected ? "changed" : "ignored");
      }),
    );
  });

  it("never fails, whatever is sent", () => {
    const known = fc.constantFrom("push", "repository", "installation", "installation_repositories", "ping");
    fc.assert(
      fc.property(fc.oneof(known, fc.string()), fc.jsonValue(), (event, payload) => {
        expect(["changed", "disconnected", "ignored", "unreadable"]).toContain(
          analyzeDelivery(event, payload, served).result,
        );
      }),
    );
  });

  it("takes no commits into account: shortened lists change nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (commits) => {
        expect(analyze(pushPayload({ commits }))).toEqual(analyze(pushPayload({ commits: [] })));
      }),
    );
  });
});
