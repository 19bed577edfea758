import { RunFailure } from "../../frameworks/index.ts";
import { answerFor, IntegrationFailure, type IntegrationProvider } from "../../integrations/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { notFound } from "../../platform/errors.ts";
import type { Redactor } from "../../platform/redact.ts";
import type { IntegrationSettings } from "../../settings/index.ts";
import { boundedContent } from "../bounded-content.ts";
import type { DocumentCache } from "../document-cache.ts";
import { limitTo } from "../limit-to.ts";
import type {
  ConnectLink,
  SourceCatalog,
  SourceTool,
  ToolCallContext,
  ToolSource,
  ToolUser,
} from "../ports.ts";
import {
  type IntegrationSession,
  integrationDocuments,
  type KeptAccount,
  type KeptTool,
} from "./documents.ts";
import { providerUserId } from "./user-id.ts";

export interface IntegrationToolsDeps {
  provider: IntegrationProvider;
  settings: { integration(workspaceId: string): Promise<IntegrationSettings> };
  cache: DocumentCache;
  clock: Clock;
  redactor: Redactor;
}

/** How old an answer may be that somebody has asked to be checked, milliseconds. */
const recheckedMs = 1_000;

/** Toolkits that are read at the same time; providers limit rates. */
const toolkitsAtOnce = 4;

/** Usable accounts first; of equal ones the provider's own order holds. */
const usefulness: Readonly<Record<KeptAccount["status"], number>> = {
  active: 0,
  pending: 1,
  expired: 2,
  failed: 3,
  revoked: 4,
};

/** The tools of an integration provider, each called for the member with the member's own account. */
export function createIntegrationTools(deps: IntegrationToolsDeps): ToolSource {
  const { provider, settings, cache, clock, redactor } = deps;
  const documents = integrationDocuments(provider.id);
  const limited = limitTo(toolkitsAtOnce);

  /** Undefined: the workspace has not configured this provider. */
  async function sessionOf(workspaceId: string): Promise<IntegrationSession | undefined> {
    const { provider: chosen, apiKey, revision } = await settings.integration(workspaceId);
    if (chosen !== provider.id || apiKey === undefined) return undefined;
    return { client: provider.connect(apiKey), origin: revision };
  }

  async function keptTools(session: IntegrationSession, workspaceId: string) {
    const toolkits = await cache.read(documents.toolkits(session, workspaceId));
    const readings = await Promise.all(
      (toolkits.value ?? []).map(async (toolkit) => {
        const document = documents.tools(session, workspaceId, toolkit);
        const load = (signal: AbortSignal) => limited(() => document.load(signal));
        return { toolkit, ...(await cache.read({ ...document, load })) };
      }),
    );
    const unread = readings.filter(({ value }) => value === undefined).map(({ toolkit }) => toolkit);
    const failure = toolkits.failure ?? readings.find((reading) => reading.failure)?.failure;
    return { tools: readings.flatMap(({ value }) => value ?? []), unread, failure, toolkits: toolkits.value };
  }

  async function tools({ workspaceId }: ToolUser): Promise<SourceCatalog> {
    const session = await sessionOf(workspaceId);
    if (!session) return { tools: [], warnings: [] };
    const kept = await keptTools(session, workspaceId);
    const warnings = kept.failure ? [kept.failure] : [];
    if (!kept.toolkits) warnings.push("No tools are listed: they could not be read yet; ask again shortly.");
    if (kept.unread.length > 0)
      warnings.push(`The tools of ${kept.unread.join(", ")} could not be read yet; ask again shortly.`);
    return { tools: kept.tools.map(toSourceTool), warnings };
  }

  async function accounts(session: IntegrationSession, user: ToolUser, recheck: boolean) {
    // Work of nobody in particular has no accounts.
    if (user.login === "") return { value: [], failure: undefined };
    const document = documents.accounts(session, user);
    return recheck ? cache.recheck(document, recheckedMs) : cache.read(document);
  }

  async function connections(user: ToolUser, recheck: boolean) {
    const session = await sessionOf(user.workspaceId);
    const found = session ? ((await accounts(session, user, recheck)).value ?? []) : [];
    return found
      .toSorted((a, b) => usefulness[a.status] - usefulness[b.status])
      .map(({ toolkit, ...account }) => ({ ...account, provider: toolkit }));
  }

  async function link(
    user: ToolUser,
    toolkit: string,
    signal: AbortSignal,
  ): Promise<ConnectLink | undefined> {
    const session = await sessionOf(user.workspaceId);
    if (!session) return undefined;
    try {
      const { url, expiresAt } = await session.client.link({ toolkit, userId: providerUserId(user) }, signal);
      return { url, expiresAt };
    } catch (error) {
      if (!(error instanceof IntegrationFailure)) throw error;
      if (error.kind === "not_found")
        throw notFound(
          "No toolkit of this name is set up at the provider; GET /tools lists those there are.",
        );
      throw answerFor(error, clock());
    }
  }

  /** Throws when a call failed because the member's account can no longer be used. */
  async function requireAccount(session: IntegrationSession, tool: KeptTool | undefined, user: ToolUser) {
    if (!tool?.needsAccount) return;
    const { value, failure } = await accounts(session, user, true);
    if (value === undefined || failure) return;
    const own = value.filter(({ toolkit }) => toolkit === tool.toolkit);
    if (own.some(({ status }) => status === "active")) return;
    const code = own.some(({ status }) => status !== "pending") ? "connection_expired" : "connection_missing";
    throw new RunFailure(code, `${user.login} has no working account at ${tool.toolkit}.`);
  }

  async function call(slug: string, args: unknown, context: ToolCallContext) {
    const { workspaceId, login, signal } = context;
    const session = await sessionOf(workspaceId);
    if (!session)
      throw new RunFailure("connection_missing", `${provider.id} is not configured in the settings.`);
    if (!isRecord(args)) return { ok: false, content: "The arguments have to be a JSON object." };
    const tool = (await keptTools(session, workspaceId)).tools.find((each) => each.slug === slug);
    const userId = providerUserId({ workspaceId, login });
    try {
      const result = await session.client.execute({ slug, userId, args, version: tool?.version }, signal);
      if (result.ok) return { ok: true, content: boundedContent(result.data) };
      if (result.status === 401 || result.status === 403) await requireAccount(session, tool, context);
      const status = result.status === undefined ? {} : { status: result.status };
      return { ok: false, content: { error: redactor.scrub(result.message), ...status } };
    } catch (error) {
      if (!(error instanceof IntegrationFailure)) throw error;
      if (error.kind !== "refused" && error.kind !== "not_found")
        throw new RunFailure("tool_failed", `${slug}: ${error.message}`, { cause: error });
      await requireAccount(session, tool, context);
      return { ok: false, content: { error: error.message } };
    }
  }

  return {
    id: provider.id,
    tools,
    connections,
    link,
    connectionsChanged: (tx, user) => cache.expire(tx, documents.accountsKey(user)),
    call,
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function toSourceTool({ toolkit, needsAccount, version: _, ...tool }: KeptTool): SourceTool {
  return { ...tool, provider: toolkit, needsConnection: needsAccount };
}
