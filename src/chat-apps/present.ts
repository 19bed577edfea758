import { toInstant } from "../platform/clock.ts";
import type { ChatAddresses } from "./platforms/platform.ts";
import type { ChatApp } from "./schema.ts";
import { type ChatSecrets, completed } from "./sealing.ts";
import { type ChatAppRow, textsOf } from "./store.ts";

/** Where a chat app's events are posted to. */
export const hookPath = "/api/hooks/chat/{chat_app_id}";

/** Where a platform leads browsers back to, and where an install link leads. */
export const callbackPath = "/chat-apps/oauth/callback";
export const installPath = "/chat-apps/install";

/** `baseUrl` is the service's public address; '' when it is not known. */
export const addressesOf = (id: string, baseUrl: string): ChatAddresses => ({
  events: baseUrl + hookPath.replace("{chat_app_id}", id),
  redirect: baseUrl + callbackPath,
});

/** Holds no secret, sealed or not. */
export function presentChatApp(row: ChatAppRow, secrets: ChatSecrets, baseUrl: string): ChatApp {
  return {
    id: row.id,
    name: row.name,
    platform: row.platform,
    labels: textsOf(row.labels),
    agentLabels: textsOf(row.agent_labels),
    defaultAgent: row.default_agent,
    emailDomains: textsOf(row.email_domains),
    owner: row.owner,
    enabled: row.enabled === 1,
    state: row.state,
    ...(row.state_reason === null ? {} : { stateReason: row.state_reason }),
    hasSecrets: completed(secrets.credentials(row)) !== undefined,
    ...(row.team_id === null ? {} : { team: { id: row.team_id, name: row.team_name ?? "" } }),
    eventsUrl: addressesOf(row.id, baseUrl).events,
    createdAt: toInstant(row.created_at),
    updatedAt: toInstant(row.updated_at),
  };
}
