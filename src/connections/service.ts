import type { RunTool } from "../frameworks/index.ts";
import type { SourceConnection, SourceTool, ToolCallContext, ToolSource, ToolUser } from "./ports.ts";

/** A tool of the catalog together with where it comes from. */
export interface CatalogTool extends SourceTool {
  source: string;
}

/** Tools that a member cannot use yet: one entry a toolkit. `toolkit` is null for slugs that nobody provides. */
export interface MissingConnection {
  toolkit: string | null;
  slugs: string[];
  connectUrl: string | null;
}

export interface Connections {
  /** The member's tool catalog, by slug. */
  tools(user: ToolUser): Promise<CatalogTool[]>;
  connections(user: ToolUser): Promise<(SourceConnection & { source: string })[]>;
  /** What is missing for a member to use those tools; empty when nothing is. */
  missing(user: ToolUser, slugs: readonly string[]): Promise<MissingConnection[]>;
  /** The tools as a run calls them. The slugs have passed `missing`. */
  prepare(slugs: readonly string[], context: Omit<ToolCallContext, "signal">): Promise<RunTool[]>;
}

export function createConnections(sources: readonly ToolSource[]): Connections {
  async function tools(user: ToolUser): Promise<CatalogTool[]> {
    const lists = await Promise.all(
      sources.map(async (source) =>
        (await source.tools(user)).map((tool) => ({ ...tool, source: source.id })),
      ),
    );
    return lists.flat().sort((a, b) => (a.slug < b.slug ? -1 : 1));
  }

  async function connections(user: ToolUser) {
    const lists = await Promise.all(
      sources.map(async (source) =>
        (await source.connections(user)).map((each) => ({ source: source.id, ...each })),
      ),
    );
    return lists.flat();
  }

  async function missing(user: ToolUser, slugs: readonly string[]): Promise<MissingConnection[]> {
    if (slugs.length === 0) return [];
    const known = new Map((await tools(user)).map((tool) => [tool.slug, tool]));
    const states = new Map(
      (await connections(user)).map((each) => [`${each.source}/${each.provider}`, each]),
    );
    const byToolkit = new Map<string | null, MissingConnection>();
    for (const slug of slugs) {
      const tool = known.get(slug);
      const state = tool && states.get(`${tool.source}/${tool.provider}`);
      if (tool && (!tool.needsConnection || state?.status === "active")) continue;
      const toolkit = tool?.provider ?? null;
      const entry = byToolkit.get(toolkit) ?? { toolkit, slugs: [], connectUrl: state?.connectUrl ?? null };
      entry.slugs.push(slug);
      byToolkit.set(toolkit, entry);
    }
    return [...byToolkit.values()];
  }

  async function prepare(
    slugs: readonly string[],
    context: Omit<ToolCallContext, "signal">,
  ): Promise<RunTool[]> {
    if (slugs.length === 0) return [];
    const known = new Map((await tools(context)).map((tool) => [tool.slug, tool]));
    return slugs.flatMap((slug) => {
      const tool = known.get(slug);
      const source = sources.find((each) => each.id === tool?.source);
      if (!tool || !source) return [];
      const { description, inputSchema } = tool;
      return [
        {
          slug,
          description,
          inputSchema,
          execute: (args, signal) => source.call(slug, args, { ...context, signal }),
        },
      ];
    });
  }

  return { tools, connections, missing, prepare };
}
