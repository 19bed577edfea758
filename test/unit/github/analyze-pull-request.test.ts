import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeDelivery } from "../../../src/github/analyze-delivery.ts";
import { examplePayload, type Payload } from "../../support/github-payloads.ts";

const served = { repository: "Codertocat/Hello-World", branch: undefined };
const analyze = (payload: Payload, repository = served.repository) =>
  analyzeDelivery("pull_request", payload, { ...served, repository });

const opened = () => examplePayload("pull-request-opened");
const subject = { kind: "pull_request", number: 2 };

describe("analyzePullRequest", () => {
  it.each(["opened", "reopened", "ready-for-review", "closed"])(
    "has GitHub's example of %s looked at",
    (name) => {
      expect(analyze(examplePayload(`pull-request-${name}`))).toEqual({ result: "proposed", subject });
    },
  );

  it("tells the head before a push", () => {
    const payload = examplePayload("pull-request-synchronize");
    expect(payload.before).toMatch(/^[0-9a-f]{40}$/);
    expect(analyze(payload)).toEqual({ result: "proposed", subject, before: payload.before });
  });

  it("looks at one that is to be merged elsewhere, not at one that was reworded", () => {
    const edited = (changes: object) => analyze({ ...opened(), action: "edited", changes });
    expect(edited({ base: { ref: { from: "main" }, sha: { from: "1".repeat(40) } } })).toEqual({
      result: "proposed",
      subject,
    });
    expect(edited({ title: { from: "Old" } }).result).toBe("ignored");
    expect(edited({}).result).toBe("ignored");
  });

  it.each(["converted_to_draft", "labeled", "assigned", "enqueued", "painted"])("ignores %s", (action) => {
    expect(analyze({ ...opened(), action })).toEqual({
      result: "ignored",
      reason: expect.stringContaining(action),
    });
  });

  it("ignores other repositories and takes no notice of the case of a name", () => {
    expect(analyze(opened(), "acme/agents")).toEqual({
      result: "ignored",
      reason: expect.stringContaining("Codertocat/Hello-World"),
    });
    expect(analyze(opened(), "codertocat/HELLO-world").result).toBe("proposed");
  });

  it("takes nothing but the number from the payload", () => {
    fc.assert(
      fc.property(fc.object(), fc.integer({ min: 1, max: 1_000_000 }), (junk, number) => {
        const payload = { ...opened(), pull_request: junk, number };
        expect(analyze(payload)).toEqual({ result: "proposed", subject: { ...subject, number } });
      }),
    );
  });

  it.each([
    {},
    null,
    { ...opened(), number: "2" },
    { ...opened(), number: 0 },
    { ...opened(), number: 1.5 },
    { ...opened(), action: undefined },
    { ...opened(), repository: {} },
  ])("cannot read what lacks a part (%#)", (payload) => {
    expect(analyze(payload).result).toBe("unreadable");
  });
});
