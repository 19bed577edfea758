import type { IntegrationProviderName } from "../settings/index.ts";

/** A tool of the provider's catalog. The definitions are the same for all members of a workspace. */
export interface IntegrationTool {
  slug: string;
  toolkit: string;
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object schema. */
  inputSchema: Record<string, unknown>;
  /** False for tools that work without an account. */
  needsAccount: boolean;
  /** Version whose arguments these are; undefined: the provider's default. */
  version: string | undefined;
}

export type AccountStatus = "active" | "pending" | "expired" | "failed" | "revoked";

/** One account of one user at one toolkit. Holds no secret, masked ones included. */
export interface IntegrationAccount {
  id: string;
  toolkit: string;
  status: AccountStatus;
  /** The provider's own word. */
  providerStatus: string;
}

/** `ok: false` is the tool's own failure. `data` is whatever the tool gave, unbounded. */
export type ExecutionResult =
  | { ok: true; data: unknown }
  | { ok: false; message: string; status: number | undefined };

/** A page where a user authorises a toolkit. The URL is good for one use. */
export interface AccountLink {
  url: string;
  /** Epoch milliseconds. */
  expiresAt: number;
  accountId: string;
}

export interface TriggerType {
  slug: string;
  toolkit: string;
  name: string;
  description: string;
  instructions: string | null;
  /** Whether the provider is told of events or asks for them. */
  delivery: "webhook" | "poll";
  /** JSON Schema of a trigger's config. */
  config: Record<string, unknown>;
  /** JSON Schema of the event's data. */
  payload: Record<string, unknown>;
}

/** A subscription to events of one account. */
export interface TriggerInstance {
  id: string;
  /** Older payloads name the instance by this one. */
  uuid: string | null;
  slug: string;
  accountId: string;
  userId: string | null;
  config: Record<string, unknown>;
  enabled: boolean;
}

/** `secret` is what deliveries are signed with, when the provider tells it. */
export interface WebhookSubscription {
  id: string;
  state: "created" | "updated" | "unchanged";
  secret: string | null;
}

/**
 * Calls to the provider in the name of one workspace. Everything rejects with IntegrationFailure, or with the
 * signal's reason once that is aborted. Reads are tried once more after a short `Retry-After`; nothing else is
 * tried twice.
 */
export interface IntegrationClient {
  /** Slugs of the toolkits that the workspace has set up with the provider. */
  toolkits(signal?: AbortSignal): Promise<string[]>;
  tools(toolkit: string, signal?: AbortSignal): Promise<IntegrationTool[]>;
  execute(
    call: { slug: string; userId: string; args: Record<string, unknown>; version?: string | undefined },
    signal?: AbortSignal,
  ): Promise<ExecutionResult>;
  accounts(userId: string, signal?: AbortSignal): Promise<IntegrationAccount[]>;
  /** An account by its id, and whose it is; undefined when there is none. */
  account(
    id: string,
    signal?: AbortSignal,
  ): Promise<(IntegrationAccount & { userId: string | null }) | undefined>;
  /** Rejects with `not_found` for a toolkit that is not set up. */
  link(to: { toolkit: string; userId: string }, signal?: AbortSignal): Promise<AccountLink>;
  triggerTypes(toolkit: string | undefined, signal?: AbortSignal): Promise<TriggerType[]>;
  /** Rejects with `not_found` when there is no such type. */
  triggerType(slug: string, signal?: AbortSignal): Promise<TriggerType>;
  /** Subscribes, or takes up again the subscription with the same config; returns its id. */
  subscribe(
    to: { slug: string; accountId: string; config: Record<string, unknown> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Subscriptions, disabled ones included. */
  triggers(
    filter: { ids?: readonly string[]; accountIds?: readonly string[] },
    signal?: AbortSignal,
  ): Promise<TriggerInstance[]>;
  setTriggerEnabled(id: string, enabled: boolean, signal?: AbortSignal): Promise<void>;
  /** Resolves for one that is gone already. */
  deleteTrigger(id: string, signal?: AbortSignal): Promise<void>;
  /**
   * Has events sent to `url`. Rejects with `refused` when the provider sends them somewhere else already:
   * there is one subscription for everybody who shares the key's project.
   */
  ensureWebhook(url: string, signal?: AbortSignal): Promise<WebhookSubscription>;
}

/** A header of a request, by its name in lower case. */
export type HeaderOf = (name: string) => string | undefined;

export type Verdict =
  | { ok: true; deliveryId: string }
  | { ok: false; reason: "no_secret" | "missing_header" | "bad_timestamp" | "stale" | "bad_signature" };

export interface DeliveryParts {
  header: HeaderOf;
  /** The body as it came, before anything was parsed. */
  body: Uint8Array;
}

export interface IntegrationEvent {
  /** The sender's id, the same in every attempt: what duplicates are recognised by. */
  id: string;
  kind: "trigger" | "trigger_disabled" | "account_expired" | "unknown";
  /** The provider's word for the kind of payload. */
  type: string | null;
  triggerId: string | null;
  /** An older id of the same trigger. */
  triggerUuid: string | null;
  /** SCREAMING_SNAKE_CASE. */
  triggerSlug: string | null;
  accountId: string | null;
  userId: string | null;
  toolkit: string | null;
  /** Why a trigger or an account stopped working, one short line of the provider's. */
  reason: string | null;
  /** What happened, for the agent; empty unless `kind` is trigger. */
  data: Record<string, unknown>;
}

/** Where outside tools and events come from. Each provider is a folder and a line in index.ts. */
export interface IntegrationProvider {
  readonly id: IntegrationProviderName;
  connect(apiKey: string): IntegrationClient;
  /** Checks a delivery's signature and age. Pure; `now` in epoch milliseconds. */
  verify(delivery: DeliveryParts, secret: string | undefined, now: number): Verdict;
  /** Reads a delivery, which has been verified. Never throws: what cannot be read is `unknown`. */
  parse(deliveryId: string, body: Uint8Array): IntegrationEvent;
}
