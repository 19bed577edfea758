import { describe, expect, test } from "vitest";
import { boundedContent } from "../../../src/connections/bounded-content.ts";
import { loginOf, providerUserId } from "../../../src/connections/index.ts";
import { resultContent } from "../../../src/connections/mcp/result-content.ts";

describe("a tool's answer", () => {
  test("stays as it is when it is short", () => {
    for (const content of [{ a: [1, null] }, "text", null, 7]) expect(boundedContent(content)).toBe(content);
  });

  test("is cut when it is long, never within a character", () => {
    const bounded = boundedContent("😀".repeat(100), 21) as { truncated: boolean; beginning: string };
    expect(bounded.truncated).toBe(true);
    expect(bounded.beginning.isWellFormed()).toBe(true);
    expect(bounded.beginning).toHaveLength(21);
    expect(JSON.stringify(boundedContent({ list: Array(1e5).fill("x") })).length).toBeLessThan(150_000);
  });
});

test("media of an MCP answer are named, texts are joined", () => {
  const content = [
    { type: "text" as const, text: "one" },
    { type: "image" as const, data: "aGk=", mimeType: "image/png" },
    { type: "resource" as const, resource: { uri: "file:///a", text: "two" } },
    { type: "resource_link" as const, uri: "file:///b", name: "b" },
  ];
  expect(resultContent({ content })).toBe("one\n[image (image/png) left out]\ntwo\n[resource file:///b]");
  expect(resultContent({ content, structuredContent: { a: 1 } })).toEqual({ a: 1 });
});

describe("the provider's name for a member", () => {
  test("is this text for ever: another one would cut members off from their accounts", () => {
    const user = { workspaceId: "ws_01J9ZX3V5N8Q4W2E6R7T8Y9U0I", login: "Otto.W_1" };
    expect(providerUserId(user)).toBe("rollcall:ws_01J9ZX3V5N8Q4W2E6R7T8Y9U0I:Otto.W_1");
    expect(loginOf(user.workspaceId, providerUserId(user))).toBe("Otto.W_1");
  });

  test("is nobody's of another workspace", () => {
    expect(loginOf("ws_1", "rollcall:ws_2:otto")).toBeUndefined();
    expect(loginOf("ws_1", "rollcall:ws_1:")).toBeUndefined();
    expect(loginOf("ws_1", "otto")).toBeUndefined();
  });
});
