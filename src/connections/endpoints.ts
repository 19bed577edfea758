import { z } from "zod";
import { toInstant } from "../platform/clock.ts";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { Connection, LinkRecord, ListTools, ToolCatalog, ToolkitPath } from "./schema.ts";
import type { CatalogTool, Connections } from "./service.ts";

const tag = "Tools";

export function connectionEndpoints(connections: Connections): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/tools",
      id: "listTools",
      tag,
      role: "viewer",
      summary: "The caller's tool catalog",
      query: ListTools,
      status: 200,
      response: ToolCatalog,
      async handle({ actor, query }) {
        const { tools, warnings } = await connections.catalog(actor);
        const found = tools.filter((tool) => isWanted(tool, query));
        return warnings.length > 0 ? { tools: found, warnings } : { tools: found };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/connections",
      id: "listConnections",
      tag,
      role: "viewer",
      summary: "Which toolkits the caller has authorised",
      status: 200,
      response: z.object({ connections: z.array(Connection) }),
      handle: async ({ actor }) => ({ connections: await connections.connections(actor) }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/connections/{toolkit}/link",
      id: "linkConnection",
      tag,
      role: "operator",
      summary: "Makes a page where the caller authorises a toolkit",
      params: ToolkitPath,
      status: 200,
      response: LinkRecord,
      revealsSecret: true,
      async handle({ actor, params: { toolkit }, write, signal }) {
        const { url, expiresAt } = await connections.link(actor, toolkit, signal);
        return write.transaction(async (tx) => {
          await connections.changed(tx, actor);
          return { answer: { url, expiresAt: toInstant(expiresAt) }, target: toolkit };
        });
      },
    }),
  ];
}

function isWanted(tool: CatalogTool, { provider, search }: ListTools): boolean {
  if (provider !== undefined && tool.provider !== provider) return false;
  const text = `${tool.slug}\n${tool.name}\n${tool.description}`.toLowerCase();
  return search === undefined || text.includes(search.toLowerCase());
}
