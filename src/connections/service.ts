import type { RunTool } from "../frameworks/index.ts";
import type { Tx } from "../platform/db/index.ts";
import { unprocessable } from "../platform/errors.ts";
import type {
  ConnectLink,
  SourceConnection,
  SourceTool,
  ToolCallContext,
  ToolSource,
  ToolUser,
} from "./ports.ts";

/** A tool of the catalog together with where it comes from. */
export interface CatalogTool extends SourceTool {
  source: string;
}

/** Tools by slug, and one sentence for each thing that is not as it should be. */
export interface ToolCatalog {
  tools: CatalogTool[];
  warnings: { source: string; message: string }[];
}

export interface MemberConnection extends SourceConnection {
  source: string;
  /** Address to POST to for a page where the toolkit is authorised. */
  connectUrl: string | null;
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
  catalog(user: ToolUser): Promise<ToolCatalog>;
  /** The member's authorisations as they are now; asks their sources, for a few seconds at most. */
  connections(user: ToolUser): Promise<MemberConnection[]>;
  /** What is missing for a member to use those tools; empty when nothing is. */
  missing(user: ToolUser, slugs: readonly string[]): Promise<MissingConnection[]>;
  /**
   * Makes a page where the member authorises a toolkit. Throws 422 when no source is configured that has
   * toolkits to authorise, 404 when it has no such toolkit, 503 when it cannot be asked.
   */
  link(user: ToolUser, toolkit: string, signal: AbortSignal): Promise<ConnectLink>;
  /** To be called when a source may say something else of the member's authorisations than before. */
  changed(tx: Tx, user: ToolUser): Promise<void>;
  /** The tools as a run calls them. The slugs have passed `missing`. */
  prepare(slugs: readonly string[], context: Omit<ToolCallContext, "signal">): Promise<RunTool[]>;
}

/** `publicUrl` is the base of the links in answers, which have only a path without one. */
export function createConnections(sources: readonly ToolSource[], publicUrl?: string): Connections {
  const sourceOf = (tool: CatalogTool | undefined) => sources.find((each) => each.id === tool?.source);

  async function catalog(user: ToolUser): Promise<ToolCatalog> {
    const lists = await Promise.all(
      sources.map(async ({ id, tools }) => ({ source: id, ...(await tools(user)) })),
    );
    const warnings = lists.flatMap(({ source, warnings }) =>
      warnings.map((message) => ({ source, message })),
    );
    const bySlug = new Map<string, CatalogTool>();
    for (const { source, tools } of lists) {
      for (const tool of tools) {
        const taken = bySlug.get(tool.slug);
        // The earlier source keeps the slug: nobody's server can step in front of a tool that agents use.
        if (taken) warnings.push({ source, message: slugTaken(tool, taken) });
        else bySlug.set(tool.slug, { ...tool, source });
      }
    }
    return { tools: [...bySlug.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1)), warnings };
  }

  const connectUrlOf = (source: ToolSource, toolkit: string) =>
    source.link ? `${publicUrl ?? ""}/api/v1/connections/${encodeURIComponent(toolkit)}/link` : null;

  async function connectionsOf(user: ToolUser, recheck: boolean): Promise<MemberConnection[]> {
    const lists = await Promise.all(
      sources.map(async (source) =>
        (await source.connections(user, recheck)).map((each) => ({
          source: source.id,
          ...each,
          connectUrl: connectUrlOf(source, each.provider),
        })),
      ),
    );
    return lists.flat();
  }

  async function missing(user: ToolUser, slugs: readonly string[]): Promise<MissingConnection[]> {
    if (slugs.length === 0) return [];
    const known = new Map((await catalog(user)).tools.map((tool) => [tool.slug, tool]));
    const usable = await usableToolkits(user, false);
    const lacks = (toolkits: ReadonlySet<string>) =>
      slugs.filter((slug) => {
        const tool = known.get(slug);
        return !tool || (tool.needsConnection && !toolkits.has(`${tool.source}/${tool.provider}`));
      });
    // Somebody who has just authorised a toolkit is not turned away because of what was true a minute ago.
    const unsure = lacks(usable).some((slug) => known.has(slug));
    const lacking = lacks(unsure ? await usableToolkits(user, true) : usable);
    const byToolkit = Map.groupBy(lacking, (slug) => known.get(slug)?.provider ?? null);
    return [...byToolkit].map(([toolkit, lackingSlugs]) => {
      const source = sourceOf(known.get(lackingSlugs[0] ?? ""));
      const connectUrl = source && toolkit !== null ? connectUrlOf(source, toolkit) : null;
      return { toolkit, slugs: lackingSlugs, connectUrl };
    });
  }

  async function usableToolkits(user: ToolUser, recheck: boolean): Promise<ReadonlySet<string>> {
    const found = await connectionsOf(user, recheck);
    return new Set(
      found
        .filter(({ status }) => status === "active")
        .map(({ source, provider }) => `${source}/${provider}`),
    );
  }

  async function link(user: ToolUser, toolkit: string, signal: AbortSignal): Promise<ConnectLink> {
    for (const source of sources) {
      const made = await source.link?.(user, toolkit, signal);
      if (made) return made;
    }
    throw unprocessable(
      "No integration provider is configured; ask a workspace admin to set its API key in the settings.",
    );
  }

  async function prepare(
    slugs: readonly string[],
    context: Omit<ToolCallContext, "signal">,
  ): Promise<RunTool[]> {
    if (slugs.length === 0) return [];
    const known = new Map((await catalog(context)).tools.map((tool) => [tool.slug, tool]));
    return slugs.flatMap((slug) => {
      const tool = known.get(slug);
      const source = sourceOf(tool);
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

  return {
    tools: async (user) => (await catalog(user)).tools,
    catalog,
    connections: (user) => connectionsOf(user, true),
    missing,
    link,
    async changed(tx, user) {
      for (const source of sources) await source.connectionsChanged?.(tx, user);
    },
    prepare,
  };
}

const slugTaken = (tool: SourceTool, taken: CatalogTool) =>
  `The tool ${tool.name} of ${tool.provider} is left out: ${taken.source} has the slug ${tool.slug} already.`;
