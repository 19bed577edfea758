import { describe, expect, it } from "vitest";
import { analyzeDelivery } from "../../../src/github/analyze-delivery.ts";
import { examplePayload, type Payload } from "../../support/github-payloads.ts";

function analyze(event: string, payload: Payload, repository: string, branch?: string) {
  return analyzeDelivery(event, payload, { repository, branch });
}

describe("installation events", () => {
  it.each([
    ["installation-created", "Codertocat/x", "changed"],
    ["installation-unsuspend", "codertocat/x", "changed"],
    ["installation-new-permissions-accepted", "Codertocat/x", "changed"],
    ["installation-suspend", "Codertocat/x", "disconnected"],
    ["installation-deleted", "octocat/x", "disconnected"],
    ["installation-deleted", "Codertocat/x", "ignored"],
    ["installation-created", "acme/agents", "ignored"],
  ])("%s for %s: %s", (example, repository, result) => {
    expect(analyze("installation", examplePayload(example), repository).result).toBe(result);
  });

  it("an account without a login, and an action that nobody knows, are ignored", () => {
    const payload = examplePayload("installation-created");
    const enterprise = { ...payload, installation: { ...payload.installation, account: { slug: "big" } } };
    expect(analyze("installation", enterprise, "Codertocat/x").result).toBe("ignored");
    expect(analyze("installation", { ...payload, action: "painted" }, "Codertocat/x")).toEqual({
      result: "ignored",
      reason: expect.stringContaining("painted"),
    });
  });

  it.each([
    ["installation-repositories-added", "Codertocat/Space", "changed"],
    ["installation-repositories-added", "Codertocat/Hello-World", "ignored"],
    ["installation-repositories-removed", "octocat/hello-world", "disconnected"],
    ["installation-repositories-removed", "Codertocat/Space", "ignored"],
  ])("%s for %s: %s", (example, repository, result) => {
    expect(analyze("installation_repositories", examplePayload(example), repository).result).toBe(result);
  });
});

describe("repository events", () => {
  it("a rename is followed under the old name, and says which variable to set", () => {
    expect(analyze("repository", examplePayload("repository-renamed"), "Octocoders/Hello-World").result).toBe(
      "changed",
    );
    const payload = examplePayload("repository-renamed");
    payload.repository.full_name = "Octocoders/New-World";
    expect(analyze("repository", payload, "octocoders/hello-world")).toEqual({
      result: "changed",
      note: expect.stringMatching(/Octocoders\/New-World.*ROLLCALL_REPOSITORY/),
    });
  });

  it("a transfer is followed under the old name and under the new one", () => {
    const payload = examplePayload("repository-transferred");
    expect(analyze("repository", payload, "octocat/Hello-World")).toMatchObject({
      result: "changed",
      note: expect.stringContaining("Octocoders/Hello-World"),
    });
    expect(analyze("repository", payload, "Octocoders/Hello-World")).toEqual({ result: "changed" });
    expect(analyze("repository", payload, "somebody/Hello-World").result).toBe("ignored");
  });

  it("another default branch is followed unless a branch was chosen", () => {
    const payload = examplePayload("repository-edited-branch");
    expect(analyze("repository", payload, "Octocoders/Hello-World")).toEqual({
      result: "changed",
      defaultBranch: "master",
    });
    expect(analyze("repository", payload, "Octocoders/Hello-World", "release").result).toBe("ignored");
    const described = examplePayload("repository-edited-description");
    expect(analyze("repository", described, "Octocoders/Hello-World").result).toBe("ignored");
  });

  it("a deletion disconnects; what is only shown differently is ignored", () => {
    const payload = examplePayload("repository-publicized");
    expect(analyze("repository", payload, payload.repository.full_name).result).toBe("ignored");
    const deleted = { ...payload, action: "deleted" };
    expect(analyze("repository", deleted, payload.repository.full_name).result).toBe("disconnected");
    expect(analyze("repository", deleted, "acme/agents").result).toBe("ignored");
  });
});

it("a ping, and events that nobody asked for, are ignored", () => {
  expect(analyze("ping", examplePayload("ping"), "acme/agents").result).toBe("ignored");
  for (const event of ["star", "constructor", "__proto__", "toString"]) {
    expect(analyze(event, { action: "created" }, "acme/agents")).toEqual({
      result: "ignored",
      reason: expect.stringContaining(event),
    });
  }
});
