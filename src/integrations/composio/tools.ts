import { shortLine } from "../../platform/short-line.ts";
import type { IntegrationClient, IntegrationTool } from "../ports.ts";
import { allPages } from "./paging.ts";
import type { ComposioRequest } from "./request.ts";
import { AuthConfigPage, Execution, FailedData, ToolPage } from "./wire.ts";

const pageSize = 500;

/** Longest message of a tool's failure that is passed on. */
const maxMessage = 2_000;

export function composioTools(
  request: ComposioRequest,
): Pick<IntegrationClient, "toolkits" | "tools" | "execute"> {
  return {
    async toolkits(signal) {
      const configs = await authConfigs(request, undefined, signal);
      return [...new Set(configs.map(({ toolkit }) => toolkit.slug))].sort();
    },
    async tools(toolkit, signal) {
      const query = { toolkit_slug: toolkit, include_deprecated: false, limit: pageSize };
      const items = await allPages((cursor) =>
        request({ method: "GET", path: "/tools", query: { ...query, cursor }, answer: ToolPage, signal }),
      );
      return items.flatMap(({ slug, ...item }): IntegrationTool[] => {
        // A slug that no spec could name is of no use.
        if (slug === null || item.toolkit.slug !== toolkit) return [];
        return [
          {
            slug,
            toolkit,
            name: item.name || slug,
            description: item.description ?? "",
            inputSchema: { ...item.input_parameters, type: "object" },
            needsAccount: item.no_auth !== true,
            version: item.version ?? undefined,
          },
        ];
      });
    },
    async execute({ slug, userId, args, version }, signal) {
      const { successful, data, error } = await request({
        method: "POST",
        path: `/tools/execute/${encodeURIComponent(slug)}`,
        body: { user_id: userId, arguments: args, ...(version === undefined ? {} : { version }) },
        answer: Execution,
        timeout: "execute",
        signal,
      });
      if (successful) return { ok: true, data };
      const failed = FailedData.safeParse(data).data;
      const said = typeof error === "string" && error !== "" ? error : failed?.message;
      return {
        ok: false,
        message: said ? shortLine(said, maxMessage) : "The tool failed without saying why.",
        status: failed?.status_code ?? undefined,
      };
    },
  };
}

/** The auth configs that are switched on, of one toolkit or of all. */
export async function authConfigs(
  request: ComposioRequest,
  toolkit: string | undefined,
  signal: AbortSignal | undefined,
) {
  const query = { toolkit_slug: toolkit, show_disabled: false, limit: 100 };
  const items = await allPages((cursor) =>
    request({
      method: "GET",
      path: "/auth_configs",
      query: { ...query, cursor },
      answer: AuthConfigPage,
      signal,
    }),
  );
  return items.filter(
    (item) => item.status?.toUpperCase() !== "DISABLED" && (!toolkit || item.toolkit.slug === toolkit),
  );
}
