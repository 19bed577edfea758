import { z } from "zod";
import { RunFailure } from "../../frameworks/index.ts";
import { IntegrationFailure } from "../../integrations/index.ts";
import { errorText } from "../../platform/errors.ts";
import type { Redactor } from "../../platform/redact.ts";
import { shortLine } from "../../platform/short-line.ts";
import type { McpServer } from "../../settings/index.ts";
import type { DocumentCache, ProviderDocument } from "../document-cache.ts";
import type { SourceCatalog, SourceConnection, SourceTool, ToolCallContext, ToolSource } from "../ports.ts";
import { resultContent } from "./result-content.ts";
import { withMcpSession } from "./session.ts";
import { toolSlugs } from "./slugs.ts";

export interface McpToolsDeps {
  settings: { mcpServers(workspaceId: string): Promise<McpServer[]> };
  cache: DocumentCache;
  redactor: Redactor;
  /** How long a call of a tool may take, milliseconds. */
  callMs?: number;
}

const KeptTool = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
});
type KeptTool = z.infer<typeof KeptTool>;

const freshMs = 10 * 60_000;
const listMs = 25_000;
const maxTools = 500;
const maxDescription = 4_000;
const maxSchema = 32 * 1024;

/** Tools of the MCP servers in the settings; each server is a provider of its own. Nobody has to authorise them. */
export function createMcpTools({ settings, cache, redactor, callMs = 60_000 }: McpToolsDeps): ToolSource {
  const documentOf = (workspaceId: string, server: McpServer): ProviderDocument<KeptTool[]> => ({
    workspaceId,
    kind: "mcp.tools",
    name: server.name,
    origin: server.revision,
    schema: z.array(KeptTool),
    freshMs,
    load: (signal) => listTools(server, signal),
  });

  async function listTools(server: McpServer, signal: AbortSignal): Promise<KeptTool[]> {
    if (server.headers === undefined)
      throw new IntegrationFailure("unavailable", `Set the headers of the MCP server ${server.name} again.`);
    try {
      const tools = await withMcpSession(server, { timeoutMs: listMs, signal }, (mcp) => mcp.listTools());
      return tools.slice(0, maxTools).map(({ name, title, description = "", inputSchema }) => ({
        name,
        ...(title === undefined ? {} : { title: title.slice(0, 200).toWellFormed() }),
        description: description.slice(0, maxDescription).toWellFormed(),
        inputSchema: { ...inputSchema },
      }));
    } catch (cause) {
      throw new IntegrationFailure("unavailable", `The MCP server ${server.name} cannot be reached.`, {
        cause,
      });
    }
  }

  async function catalogOf(workspaceId: string) {
    const servers = await settings.mcpServers(workspaceId);
    return Promise.all(
      servers.map(async (server) => {
        const { value, failure } = await cache.read(documentOf(workspaceId, server));
        const { tools, warnings } = presentTools(server.name, value ?? []);
        if (failure) warnings.push(failure);
        return { server, tools, warnings, read: value !== undefined, failure };
      }),
    );
  }

  async function tools({ workspaceId }: { workspaceId: string }): Promise<SourceCatalog> {
    const catalogs = await catalogOf(workspaceId);
    return {
      tools: catalogs.flatMap((each) => each.tools.map(({ tool }) => tool)),
      warnings: catalogs.flatMap(({ warnings }) => warnings),
    };
  }

  async function connections({ workspaceId }: { workspaceId: string }): Promise<SourceConnection[]> {
    return (await catalogOf(workspaceId)).map(({ server, read, failure }) => ({
      id: null,
      provider: server.name,
      status: failure ? "failed" : read ? "active" : "pending",
      providerStatus: null,
    }));
  }

  async function call(slug: string, args: unknown, { workspaceId, signal }: ToolCallContext) {
    const catalogs = await catalogOf(workspaceId);
    const found = catalogs
      .flatMap(({ server, tools }) => tools.map((each) => ({ ...each, server })))
      .find(({ tool }) => tool.slug === slug);
    if (!found) throw new RunFailure("tool_failed", `No MCP server offers ${slug} any more.`);
    const parsed = z.record(z.string(), z.unknown()).safeParse(args ?? {});
    if (!parsed.success) return { ok: false, content: "The arguments have to be a JSON object." };
    const { server, name } = found;
    if (server.headers === undefined)
      throw new RunFailure("tool_failed", `The headers of the MCP server ${server.name} cannot be opened.`);
    try {
      const result = await withMcpSession(server, { timeoutMs: callMs, signal }, (mcp) =>
        mcp.callTool(name, parsed.data),
      );
      const content = resultContent(result);
      if (!result.isError) return { ok: true, content };
      return { ok: false, content: typeof content === "string" ? redactor.scrub(content) : content };
    } catch (error) {
      signal.throwIfAborted();
      const details = `${slug}: the MCP server ${server.name} failed: ${shortLine(errorText(error), 500)}`;
      throw new RunFailure("tool_failed", details, { cause: error });
    }
  }

  return { id: "mcp", tools, connections, call };
}

/** The server's tools under their slugs. What it says of them is bounded; a tool that is too large is left out. */
function presentTools(server: string, kept: readonly KeptTool[]) {
  const fitting = kept.filter(({ inputSchema }) => JSON.stringify(inputSchema).length <= maxSchema);
  const { tools, warnings } = toolSlugs(
    server,
    fitting.map(({ name }) => name),
  );
  const byName = new Map(fitting.map((tool) => [tool.name, tool]));
  if (fitting.length < kept.length)
    warnings.push(
      `${kept.length - fitting.length} tools of ${server} are left out: their schemas are too large.`,
    );
  if (kept.length === maxTools) warnings.push(`Only the first ${maxTools} tools of ${server} are listed.`);
  const presented = tools.flatMap(({ name, slug }) => {
    const tool = byName.get(name);
    return tool ? [{ name, tool: toSourceTool(server, slug, tool) }] : [];
  });
  return { tools: presented, warnings };
}

function toSourceTool(server: string, slug: string, tool: KeptTool): SourceTool {
  return {
    slug,
    provider: server,
    name: tool.title ?? tool.name.slice(0, 200).toWellFormed(),
    description: tool.description,
    inputSchema: tool.inputSchema,
    needsConnection: false,
  };
}
