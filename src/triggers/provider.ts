import {
  answerFor,
  type IntegrationClient,
  IntegrationFailure,
  type IntegrationProvider,
  type Integrations,
} from "../integrations/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import type { Settings } from "../settings/index.ts";

/** The provider that a workspace has chosen. */
export interface WorkspaceProvider {
  provider: IntegrationProvider;
  /** Key of the signatures on its deliveries. */
  webhookSecret: string | undefined;
  /** Fingerprint of the API key. */
  revision: string;
  /** Throws an `unauthorised` IntegrationFailure when the workspace has no API key. */
  client(): IntegrationClient;
}

export type ProviderOf = (workspaceId: string) => Promise<WorkspaceProvider>;

export interface ProviderDeps {
  db: Database;
  settings: Pick<Settings, "integration" | "change">;
  integrations: Integrations;
  /** Where the workspace's events are sent to; null when the service does not know its own address. */
  hookUrl(workspaceId: string): Promise<string | null>;
}

export function createProviderOf({ settings, integrations }: ProviderDeps): ProviderOf {
  return async (workspaceId) => {
    const { provider: name, apiKey, webhookSecret, revision } = await settings.integration(workspaceId);
    const provider = integrations[name];
    return {
      provider,
      webhookSecret,
      revision,
      client() {
        if (apiKey !== undefined) return provider.connect(apiKey);
        const what = "No integration provider is configured; ask a workspace admin to set its API key.";
        throw new IntegrationFailure("unauthorised", what);
      },
    };
  };
}

/**
 * Has the provider send the workspace's events here. A secret that it makes for them is kept when the workspace has
 * none. Throws an IntegrationFailure: `refused` also when they go somewhere else already.
 */
export async function ensureWebhook(
  { db, settings, hookUrl }: ProviderDeps,
  workspaceId: string,
  { client, webhookSecret }: WorkspaceProvider,
  signal: AbortSignal,
): Promise<void> {
  const url = await hookUrl(workspaceId);
  if (url === null) {
    const what =
      "The service does not know its public address; set ROLLCALL_URL so that events can be sent to it.";
    throw new IntegrationFailure("refused", what);
  }
  const { state, secret } = await client().ensureWebhook(url, signal);
  // In later answers it may be masked.
  if (state !== "created" || secret === null || webhookSecret !== undefined) return;
  await db.transaction(async (tx) => {
    await settings.change(tx, workspaceId, { integration: { webhookSecret: secret } });
  });
}

/** For endpoints: a provider's failure becomes the API's answer. */
export async function answering<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof IntegrationFailure ? answerFor(error, clock()) : error;
  }
}
