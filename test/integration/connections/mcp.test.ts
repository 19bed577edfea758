import { beforeEach, describe, expect, test } from "vitest";
import type { ProviderDocument } from "../../../src/connections/document-cache.ts";
import { createMcpTools } from "../../../src/connections/index.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import type { McpServer } from "../../../src/settings/index.ts";
import { type McpSimulator, startMcpSimulator } from "../../support/mcp-simulator.ts";

let mcp: McpSimulator;

beforeEach(async () => {
  mcp = await startMcpSimulator();
  return () => mcp.close();
});

/** Keeps what was read first and never asks again. */
function keepingCache() {
  const kept = new Map<string, unknown>();
  const read = async <T>(document: ProviderDocument<T>) => {
    if (!kept.has(document.name)) {
      const loaded = await document.load(new AbortController().signal).catch((error: Error) => error);
      if (loaded instanceof Error) return { value: undefined, failure: loaded.message };
      kept.set(document.name, loaded);
    }
    return { value: kept.get(document.name) as T, failure: undefined };
  };
  return { read, recheck: read, expire: async () => {}, close: async () => {} };
}

function source(server: Partial<McpServer> = {}, callMs = 5_000) {
  const servers = [{ name: "docs", url: mcp.url, headers: {}, revision: "1", ...server }];
  const settings = { mcpServers: async () => servers };
  return createMcpTools({ settings, cache: keepingCache(), redactor: createRedactor(), callMs });
}

const user = { workspaceId: "ws_1", login: "otto" };
const context = (signal = new AbortController().signal) => ({ ...user, commitSha: "c", signal });

describe("tools of an MCP server", () => {
  test("are read over all pages, with what it says of them in bounds", async () => {
    mcp.tools = [
      { name: "a", description: "d".repeat(10_000) },
      { name: "b", inputSchema: { properties: { x: { enum: Array(10_000).fill("value") } } } },
      { name: "c" },
      { name: "d" },
      { name: "e" },
    ];
    const { tools, warnings } = await source().tools(user);
    expect(tools.map(({ slug }) => slug)).toEqual(["DOCS_A", "DOCS_C", "DOCS_D", "DOCS_E"]);
    expect(tools[0]?.description).toHaveLength(4_000);
    expect(warnings).toEqual(["1 tools of docs are left out: their schemas are too large."]);
  });

  test("of one with too many are listed in part", async () => {
    mcp.pageSize = 300;
    mcp.tools = Array.from({ length: 501 }, (_, index) => ({ name: `tool${index}` }));
    const { tools, warnings } = await source().tools(user);
    expect(tools).toHaveLength(500);
    expect(warnings).toEqual(["Only the first 500 tools of docs are listed."]);
  });

  test("need headers that can be opened", async () => {
    mcp.tools = [{ name: "a" }];
    const { tools, warnings } = await source({ headers: undefined }).tools(user);
    expect([tools, warnings]).toEqual([[], ["Set the headers of the MCP server docs again."]]);
    expect(mcp.requests).toEqual([]);
  });

  test("cannot be waited for longer than a call may take", async () => {
    mcp.tools = [{ name: "a" }];
    const slow = source({}, 50);
    await slow.tools(user);
    mcp.fault = "stall";
    await expect(slow.call("DOCS_A", {}, context())).rejects.toMatchObject({ code: "tool_failed" });
  });

  test("give the reason of whoever stops the run", async () => {
    mcp.tools = [{ name: "a" }];
    const slow = source();
    await slow.tools(user);
    mcp.fault = "stall";
    const controller = new AbortController();
    const reason = new Error("cancelled");
    const called = slow.call("DOCS_A", {}, context(controller.signal));
    controller.abort(reason);
    await expect(called).rejects.toBe(reason);
  });

  test("take objects alone, and those that are gone are said to be", async () => {
    mcp.tools = [{ name: "a" }];
    const docs = source();
    expect(await docs.call("DOCS_A", ["x"], context())).toMatchObject({ ok: false });
    await expect(docs.call("DOCS_Z", {}, context())).rejects.toMatchObject({ code: "tool_failed" });
  });
});
