import { onTestFinished } from "vitest";
import { providerUserId } from "../../src/connections/index.ts";
import { startApp, type TestApp } from "./app.ts";
import { type ComposioSimulator, startComposioSimulator } from "./composio-simulator.ts";
import type { Engine } from "./databases.ts";
import { type McpSimulator, startMcpSimulator } from "./mcp-simulator.ts";
import { type ModelSimulator, startModelSimulator } from "./model-simulator.ts";
import { agentFiles, runToEnd } from "./run-requests.ts";

export interface OutsideTools {
  app: TestApp;
  composio: ComposioSimulator;
  mcp: McpSimulator;
  model: ModelSimulator;
  /** Adds an account of a member (`admin` unless given) and returns its id. */
  addAccount(toolkit: string, status: string, login?: string): string;
  /** Sets the integration's key and secret, and the MCP server `docs`. */
  configure(): Promise<void>;
  /** Runs an agent whose model calls a tool once, then answers `done`, or is not asked again when `fatal`. */
  callTool(slug: string, args?: unknown, fatal?: "fatal"): ReturnType<typeof runToEnd>;
}

/** The service with Composio, an MCP server and a model to talk to, for the running test alone. */
export async function startWithOutsideTools({
  engine = "sqlite",
}: {
  engine?: Engine;
} = {}): Promise<OutsideTools> {
  const composio = await startComposioSimulator();
  onTestFinished(() => composio.close());
  const mcp = await startMcpSimulator();
  onTestFinished(() => mcp.close());
  const model = await startModelSimulator();
  onTestFinished(() => model.close());
  composio.toolkits.add("github").add("web");
  composio.tools.push(
    { slug: "GITHUB_CREATE_ISSUE", toolkit: "github", description: "Creates an issue." },
    { slug: "GITHUB_LIST_ISSUES", toolkit: "github" },
    { slug: "WEB_SEARCH", toolkit: "web", noAuth: true },
  );
  mcp.token = "mcp-header-canary-0815";
  mcp.tools.push({ name: "searchPages", description: "Searches." }, { name: "get_page" });
  const slugs = [...composio.tools.map(({ slug }) => slug), "DOCS_SEARCH_PAGES", "DOCS_GET_PAGE"];
  const specs = Object.fromEntries(
    slugs.map((slug) => [agentOf(slug), { model: "openai-compatible/any", connections: [slug] }]),
  );
  const app = await startApp({
    engine,
    files: agentFiles(specs),
    env: { COMPOSIO_BASE_URL: composio.url, OPENAI_COMPATIBLE_BASE_URL: `${model.origin}/v1` },
  });
  return {
    app,
    composio,
    mcp,
    model,
    addAccount(toolkit, status, login = "admin") {
      const id = `ca_${composio.accounts.length + 1}`;
      const userId = providerUserId({ workspaceId: app.workspaceId, login });
      composio.accounts.push({ id, toolkit, userId, status });
      return id;
    },
    async configure() {
      const headers = { Authorization: `Bearer ${mcp.token}` };
      const body = {
        integration: { apiKey: composio.apiKey, webhookSecret: composio.secret },
        mcpServers: [{ name: "docs", url: mcp.url, headers }],
      };
      const { status, text } = await app.request("PATCH", "/settings", { body });
      if (status !== 200) throw new Error(`The settings were refused: ${text}`);
    },
    callTool(slug, args = {}, fatal) {
      model.script({ toolCalls: [{ name: slug, args }] }, ...(fatal ? [] : [{ text: "done" }]));
      return runToEnd(app, agentOf(slug));
    },
  };
}

/** Name of the agent that may call this tool alone. */
export const agentOf = (slug: string) => slug.toLowerCase().replaceAll("_", "-");
