import { describe, expect, test } from "vitest";
import { databases } from "../../support/databases.ts";
import { agentOf, startWithOutsideTools } from "../../support/outside-tools.ts";

const slugsOf = (answer: { json: { tools: { slug: string }[] } }) =>
  answer.json.tools.map(({ slug }) => slug);
const builtin = ["ROLLCALL_CURRENT_TIME", "ROLLCALL_READ_FILE"];

describe.each(databases())("outside tools on %s", (engine) => {
  test("are listed once they are configured, and found by provider and text", async () => {
    const { app, configure } = await startWithOutsideTools({ engine });
    expect((await app.request("GET", "/tools")).json).toEqual({
      tools: builtin.map((slug) => expect.objectContaining({ slug, source: "rollcall" })),
    });
    await configure();
    const all = await app.request("GET", "/tools");
    expect(slugsOf(all)).toEqual([
      "DOCS_GET_PAGE",
      "DOCS_SEARCH_PAGES",
      "GITHUB_CREATE_ISSUE",
      "GITHUB_LIST_ISSUES",
      ...builtin,
      "WEB_SEARCH",
    ]);
    expect(all.json.tools[2]).toEqual({
      source: "composio",
      provider: "github",
      slug: "GITHUB_CREATE_ISSUE",
      name: "github create issue",
      description: "Creates an issue.",
      inputSchema: { type: "object", properties: {} },
      needsConnection: true,
    });
    expect(all.json.tools[1]).toMatchObject({ source: "mcp", provider: "docs", needsConnection: false });
    expect(all.json.warnings).toBeUndefined();
    expect(slugsOf(await app.request("GET", "/tools?provider=web"))).toEqual(["WEB_SEARCH"]);
    expect(slugsOf(await app.request("GET", "/tools?search=creates+AN"))).toEqual(["GITHUB_CREATE_ISSUE"]);
    expect((await app.request("GET", "/tools?nothing=1")).status).toBe(400);
  });

  test("an account is linked, and a run that was refused before is taken at once", async () => {
    const { app, composio, configure } = await startWithOutsideTools({ engine });
    await configure();
    const body = { agent: agentOf("GITHUB_CREATE_ISSUE"), message: "x" };
    const refused = await app.request("POST", "/runs", { body });
    expect(refused.status).toBe(422);
    const connectUrl = "http://127.0.0.1/api/v1/connections/github/link";
    expect(refused.json.details.missing).toEqual([
      { toolkit: "github", slugs: ["GITHUB_CREATE_ISSUE"], connectUrl },
    ]);
    const link = await app.request("POST", "/connections/github/link");
    expect(link.status).toBe(200);
    expect(link.json).toEqual({
      url: expect.stringMatching(/^https:\/\/connect\.composio\.test\//),
      expiresAt: expect.stringMatching(/Z$/),
    });
    const mine = await app.request("GET", "/connections");
    const github = mine.json.connections.find((each: { provider: string }) => each.provider === "github");
    const [account] = composio.accounts;
    expect(github).toEqual({
      id: account?.id,
      source: "composio",
      provider: "github",
      status: "pending",
      providerStatus: "INITIATED",
      connectUrl,
    });
    composio.accounts = composio.accounts.map((each) => ({ ...each, status: "ACTIVE" }));
    // Two seconds are as long as an answer counts as current.
    await expect
      .poll(async () => (await app.request("POST", "/runs", { body })).status, { timeout: 8_000 })
      .toBe(202);
    expect(account?.userId).toBe(`rollcall:${app.workspaceId}:admin`);
  });
});

test("connections are each member's own, one active account is enough", async () => {
  const { app, addAccount, configure } = await startWithOutsideTools();
  await configure();
  addAccount("github", "EXPIRED");
  addAccount("github", "ACTIVE");
  addAccount("github", "REVOKED", "olga");
  const key = await app.member("olga", "operator");
  const statuses = async (setup = {}) => {
    const { json } = await app.request("GET", "/connections", setup);
    const shown: { source: string; status: string; id: string; providerStatus: string }[] = json.connections;
    return shown
      .filter(({ source }) => source === "composio")
      .map(({ id, status, providerStatus }) => [id, status, providerStatus]);
  };
  expect(await statuses()).toEqual([
    ["ca_2", "active", "ACTIVE"],
    ["ca_1", "expired", "EXPIRED"],
  ]);
  expect(await statuses({ key })).toEqual([["ca_3", "revoked", "REVOKED"]]);
  const body = { agent: agentOf("GITHUB_CREATE_ISSUE"), message: "x" };
  expect((await app.request("POST", "/runs", { body })).status).toBe(202);
  expect((await app.request("POST", "/runs", { body, key })).status).toBe(422);
});

test("a link needs a provider, a toolkit and the role for it", async () => {
  const { app, composio, configure } = await startWithOutsideTools();
  const link = (toolkit: string, setup = {}) => app.request("POST", `/connections/${toolkit}/link`, setup);
  expect((await link("github")).status).toBe(422);
  await configure();
  expect((await link("jira")).status).toBe(404);
  expect((await link("git%20hub")).status).toBe(400);
  expect((await link("github", { key: await app.member("vera", "viewer") })).status).toBe(403);
  composio.fail(/link/, { status: 500 });
  const down = await link("github");
  expect([down.status, down.headers.get("retry-after")]).toEqual([503, "5"]);
  composio.fail(/link/, { status: 429, retryAfter: "77" });
  expect((await link("github")).headers.get("retry-after")).toMatch(/^7[67]$/);
  composio.fail(/link/, { status: 400, message: "No more accounts." });
  const declined = await link("github");
  expect([declined.status, declined.json.error]).toEqual([422, "Composio declined (400): No more accounts."]);
  const headers = { "idempotency-key": "once" };
  expect((await link("github", { headers })).status).toBe(200);
  const repeated = await link("github", { headers });
  expect(repeated.status).toBe(409);
  expect(repeated.text).not.toContain("lk_");
});

test("the catalog survives the provider, and an agent is told which slug is near", async () => {
  const { app, composio, mcp, configure } = await startWithOutsideTools();
  await configure();
  const before = slugsOf(await app.request("GET", "/tools"));
  composio.fail(/./, { status: 500 }, 1_000);
  mcp.fault = { status: 500 };
  await app.db.transaction((tx) => tx("provider_documents").update({ refresh_at: 0 }));
  expect(slugsOf(await app.request("GET", "/tools"))).toEqual(before);
  await expect
    .poll(async () => (await app.request("GET", "/tools")).json.warnings)
    .toEqual([
      { source: "composio", message: "Composio answered 500; try again later." },
      { source: "mcp", message: "The MCP server docs cannot be reached." },
    ]);
  expect(slugsOf(await app.request("GET", "/tools"))).toEqual(before);
  await app.commit({
    "agents/ai-sdk/typo.yaml":
      "name: typo\nframework: ai-sdk\nmodel: offline/echo\ninstructions: x\nconnections: [GITHUB_CREAT_ISSUE]\n",
  });
  const { agent } = (await app.request("GET", "/agents/typo")).json;
  expect(agent.warnings[0].message).toContain("did you mean GITHUB_CREATE_ISSUE?");
});

test("a provider that was never reached leaves the other tools and says so", async () => {
  const { app, composio, configure } = await startWithOutsideTools();
  composio.fail(/./, "garbage", 1_000);
  await configure();
  const { json } = await app.request("GET", "/tools");
  expect(slugsOf({ json })).toEqual(["DOCS_GET_PAGE", "DOCS_SEARCH_PAGES", ...builtin]);
  expect(json.warnings.map(({ source }: { source: string }) => source)).toContain("composio");
  const connections = await app.request("GET", "/connections");
  expect(connections.status).toBe(200);
});

test("another API key is another project: nothing of the one before is shown", async () => {
  const { app, composio, configure } = await startWithOutsideTools();
  await configure();
  await app.request("GET", "/tools");
  composio.apiKey = "ak_of_another_project";
  composio.tools = [{ slug: "WEB_FETCH", toolkit: "web", noAuth: true }];
  const body = { integration: { apiKey: composio.apiKey } };
  await app.request("PATCH", "/settings", { body });
  expect(slugsOf(await app.request("GET", "/tools"))).toEqual([
    "DOCS_GET_PAGE",
    "DOCS_SEARCH_PAGES",
    ...builtin,
    "WEB_FETCH",
  ]);
  await app.request("PATCH", "/settings", { body: { integration: { apiKey: null }, mcpServers: null } });
  expect(slugsOf(await app.request("GET", "/tools"))).toEqual(builtin);
});

test("nobody's MCP server steps in front of a tool that was there before", async () => {
  const { app, mcp, composio } = await startWithOutsideTools();
  mcp.token = undefined;
  mcp.tools = [{ name: "create_issue" }, { name: "read_file" }, { name: "x".repeat(80) }];
  const servers = [
    { name: "github", url: mcp.url },
    { name: "rollcall", url: mcp.url },
  ];
  await app.request("PATCH", "/settings", {
    body: { integration: { apiKey: composio.apiKey }, mcpServers: servers },
  });
  const { tools, warnings } = (await app.request("GET", "/tools")).json;
  const sourceOf = (slug: string) => tools.find((tool: { slug: string }) => tool.slug === slug)?.source;
  expect(sourceOf("GITHUB_CREATE_ISSUE")).toBe("composio");
  expect(sourceOf("ROLLCALL_READ_FILE")).toBe("rollcall");
  expect(sourceOf("GITHUB_READ_FILE")).toBe("mcp");
  const messages = warnings.map(({ message }: { message: string }) => message).join("\n");
  expect(messages).toContain("composio has the slug GITHUB_CREATE_ISSUE already");
  expect(messages).toContain("rollcall has the slug ROLLCALL_READ_FILE already");
  expect(messages).toContain("too long");
});
