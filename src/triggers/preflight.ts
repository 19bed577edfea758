import { loginOf } from "../connections/index.ts";
import { type IntegrationClient, IntegrationFailure, type TriggerType } from "../integrations/index.ts";
import type { Clock } from "../platform/clock.ts";
import { badRequest, unprocessable } from "../platform/errors.ts";
import { type Actor, atLeast } from "../platform/http/index.ts";
import { checkConfig } from "./check-config.ts";
import { answering, ensureWebhook, type ProviderDeps, type ProviderOf } from "./provider.ts";

export interface PreflightDeps extends ProviderDeps {
  clock: Clock;
  providerOf: ProviderOf;
  /** Public address of the service; '' when it is not known. */
  baseUrl: string;
}

/** What a trigger is to be subscribed for. */
export interface Wanted {
  connection: string;
  slug: string;
  config: Record<string, unknown>;
}

/** What the provider says of it. */
export interface Checked {
  toolkit: string;
  /** Login of the member whose account it is. */
  owner: string;
}

/**
 * Makes sure, at the provider, that a trigger can work: its type, its connection, its config, and that events are
 * sent here. Throws 400 for a config that does not fit, 422 for what is impossible now, 503 when the provider is away.
 */
export async function preflight(
  deps: PreflightDeps,
  actor: Actor,
  { connection, slug, config }: Wanted,
  signal: AbortSignal,
): Promise<Checked> {
  return answering(deps.clock, async () => {
    const session = await deps.providerOf(actor.workspaceId);
    const client = session.client();
    const type = await findType(client, slug, signal);
    const account = await client.account(connection, signal);
    const missing = [{ toolkit: type.toolkit, slugs: [slug], connectUrl: connectUrl(deps, type.toolkit) }];
    const owner = loginOf(actor.workspaceId, account?.userId ?? "");
    if (!account || owner === undefined || (owner !== actor.login && !atLeast(actor.role, "workspace_admin")))
      throw unprocessable(`None of your connections is ${connection}; GET /connections lists them.`, {
        missing,
      });
    if (account.toolkit !== type.toolkit)
      throw unprocessable(`${slug} needs a connection of ${type.toolkit}, not of ${account.toolkit}.`, {
        missing,
      });
    if (account.status !== "active")
      throw unprocessable(`This connection of ${type.toolkit} is ${account.status}; authorise it first.`, {
        missing,
      });
    const problems = await checkConfig({ schema: type.config, config });
    if (problems && problems.length > 0)
      throw badRequest("The config does not fit the trigger type; see details.", problems);
    await ensureWebhook(deps, actor.workspaceId, session, signal);
    return { toolkit: type.toolkit, owner };
  });
}

async function findType(client: IntegrationClient, slug: string, signal: AbortSignal): Promise<TriggerType> {
  try {
    return await client.triggerType(slug, signal);
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || error.kind !== "not_found") throw error;
    throw unprocessable(`No trigger type is called ${slug}; GET /trigger-types lists those there are.`);
  }
}

const connectUrl = ({ baseUrl }: PreflightDeps, toolkit: string) =>
  `${baseUrl}/api/v1/connections/${encodeURIComponent(toolkit)}/link`;
