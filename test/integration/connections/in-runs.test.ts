import { describe, expect, test } from "vitest";
import { agentOf, startWithOutsideTools } from "../../support/outside-tools.ts";
import { postRun } from "../../support/run-requests.ts";

/** What the model was told of its tool call. */
const toldOf = (model: {
  requests: readonly { body: { messages: { role: string; content: unknown }[] } }[];
}) => JSON.stringify(model.requests.at(-1)?.body.messages.findLast(({ role }) => role === "tool")?.content);

describe("a run calls a tool of the provider", () => {
  async function connected(status = "ACTIVE") {
    const world = await startWithOutsideTools();
    await world.configure();
    world.addAccount("github", status);
    return world;
  }

  test("as the member that it runs as", async () => {
    const { app, composio, callTool, model } = await connected();
    expect(await callTool("GITHUB_CREATE_ISSUE", { title: "Broken" })).toMatchObject({
      status: "succeeded",
      output: "done",
    });
    expect(composio.called(/execute/)).toMatchObject([
      {
        body: {
          user_id: `rollcall:${app.workspaceId}:admin`,
          arguments: { title: "Broken" },
          version: "20260901_00",
        },
      },
    ]);
    expect(toldOf(model)).toContain("Broken");
  });

  test("whose failure the model is told, in bounds", async () => {
    const { composio, callTool, model } = await connected();
    Object.assign(composio.tools[0] ?? {}, {
      run: () => ({
        successful: false,
        data: { status_code: 404, message: `No repository ${"x".repeat(9_000)}` },
      }),
    });
    expect(await callTool("GITHUB_CREATE_ISSUE")).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("No repository");
    expect(toldOf(model).length).toBeLessThan(3_000);
  });

  test("whose long answer is cut", async () => {
    const { composio, callTool, model } = await connected();
    Object.assign(composio.tools[0] ?? {}, { run: () => ({ successful: true, data: "y".repeat(300_000) }) });
    expect(await callTool("GITHUB_CREATE_ISSUE")).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("truncated");
    expect(toldOf(model).length).toBeLessThan(70_000);
  });

  test.each([{ status: 500 }, "garbage" as const, { status: 429, retryAfter: "0" }, { status: 401 }])(
    "and fails when the provider does: %j",
    async (fault) => {
      const { composio, callTool } = await connected();
      composio.fail(/execute/, fault);
      expect(await callTool("GITHUB_CREATE_ISSUE", {}, "fatal")).toMatchObject({
        status: "failed",
        failureCode: "tool_failed",
        errorDetails: expect.stringContaining("GITHUB_CREATE_ISSUE: Composio"),
      });
      expect(composio.called(/execute/)).toHaveLength(1);
    },
  );

  test.each([
    ["EXPIRED", "connection_expired"],
    ["REVOKED", "connection_expired"],
    ["INITIATED", "connection_missing"],
  ])("with an account that has become %s, which is %s", async (status, failureCode) => {
    const { app, composio, model } = await connected();
    const held = Promise.withResolvers<void>();
    model.script({ toolCalls: [{ name: "GITHUB_CREATE_ISSUE", args: {} }], until: held.promise });
    const id = await postRun(app, agentOf("GITHUB_CREATE_ISSUE"));
    await model.request(0);
    composio.accounts = composio.accounts.map((account) => ({ ...account, status }));
    await app.db.transaction((tx) => tx("provider_documents").update({ fetched_at: 1 }));
    held.resolve();
    const { run } = (await app.request("GET", `/runs/${id}?wait=20`)).json;
    expect(run).toMatchObject({ status: "failed", failureCode });
  });

  test("a tool without an account that refuses is only that", async () => {
    const { composio, callTool, model, configure } = await startWithOutsideTools();
    await configure();
    composio.fail(/execute/, { status: 400, message: "The query is empty." });
    expect(await callTool("WEB_SEARCH")).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("The query is empty.");
  });
});

describe("a run calls a tool of an MCP server", () => {
  async function configured({ json = false } = {}) {
    const world = await startWithOutsideTools();
    world.mcp.json = json;
    await world.configure();
    return world;
  }

  test.each([{ json: false }, { json: true }])("and is told its answer, %j", async (setup) => {
    const { callTool, model, mcp } = await configured(setup);
    expect(await callTool("DOCS_SEARCH_PAGES", { q: "rollcall" })).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("rollcall");
    expect(mcp.requests.every(({ authorization }) => authorization === `Bearer ${mcp.token}`)).toBe(true);
  });

  test("and is told of its failures", async () => {
    const { callTool, model, mcp } = await configured();
    Object.assign(mcp.tools[0] ?? {}, {
      call: () => ({ isError: true, content: [{ type: "text", text: "no such page" }] }),
    });
    expect(await callTool("DOCS_SEARCH_PAGES")).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("no such page");
    Object.assign(mcp.tools[0] ?? {}, {
      call: () => {
        throw new Error("bad arguments");
      },
    });
    expect(await callTool("DOCS_SEARCH_PAGES")).toMatchObject({ status: "succeeded" });
    expect(toldOf(model)).toContain("bad arguments");
  });

  test.each([{ status: 503 }, { status: 401 }, "flood" as const, "garbage" as const, "redirect" as const])(
    "and fails when the server does: %j",
    async (fault) => {
      const { app, callTool, mcp } = await configured();
      await app.request("GET", "/tools");
      mcp.fault = fault;
      expect(await callTool("DOCS_SEARCH_PAGES", {}, "fatal")).toMatchObject({
        status: "failed",
        failureCode: "tool_failed",
        errorDetails: expect.stringContaining("DOCS_SEARCH_PAGES: the MCP server docs failed"),
      });
      const { tools } = (await app.request("GET", "/tools?provider=docs")).json;
      expect(tools).toHaveLength(2);
    },
  );

  test("and stops waiting when it is cancelled", async () => {
    const { app, mcp, model } = await configured();
    await app.request("GET", "/tools");
    const held = Promise.withResolvers<void>();
    model.script({ toolCalls: [{ name: "DOCS_GET_PAGE", args: {} }], until: held.promise });
    const id = await postRun(app, agentOf("DOCS_GET_PAGE"));
    await model.request(0);
    const before = mcp.requests.length;
    mcp.fault = "stall";
    held.resolve();
    await expect.poll(() => mcp.requests.length).toBeGreaterThan(before);
    await app.request("POST", `/runs/${id}/cancel`);
    const { run } = (await app.request("GET", `/runs/${id}?wait=20`)).json;
    expect(run.status).toBe("cancelled");
  });
});
