import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { handledEvents } from "../../src/github/analyze-delivery.ts";

const text = readFileSync(new URL("../../app.yml", import.meta.url), "utf8");

/** GitHub sends these to every App, and refuses a manifest that asks for them. */
const sentAnyway = ["installation", "installation_repositories", "ping"];

describe("the manifest of the GitHub App", () => {
  const manifest = parse(text);

  it("asks for exactly the events that are handled", () => {
    expect([...manifest.default_events, ...sentAnyway].sort()).toEqual([...handledEvents].sort());
  });

  it("asks for reading, for what is shown on commits, and for the writing of agent changes", () => {
    expect(manifest.default_permissions).toEqual({
      contents: "write",
      metadata: "read",
      pull_requests: "write",
      merge_queues: "read",
      statuses: "write",
      checks: "write",
    });
    expect(manifest.public).toBe(false);
  });

  it("says above each event and permission what it is for", () => {
    const lines = text.split("\n");
    const entries = lines.flatMap((line, index) => (/^ {2}(- )?\w+/.test(line) ? [index] : []));
    expect(entries).toHaveLength(10);
    for (const index of entries) expect(lines[index - 1]).toMatch(/^ {2}# .+\.$/);
  });
});
