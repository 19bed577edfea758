import type { ChatAddresses } from "../platform.ts";

/** What the bot may do at Slack: read what is said to it, answer, and know users by their e-mail addresses. */
export const botScopes = [
  "app_mentions:read",
  "chat:write",
  "im:history",
  "users:read",
  "users:read.email",
] as const;

/**
 * Slack's own stop button (`agent_session_stopped`) is none of these: it is shown for sessions that an app opens, which
 * only apps declared as agents may, with the scope `assistant:write`. The word in the thread needs neither.
 */
const botEvents = ["app_mention", "app_uninstalled", "message.im", "tokens_revoked"] as const;

/** Slack's limits for the two names. */
const maxName = 35;

/** The manifest of a Slack app that fits this service. */
export function slackManifest(name: string, { events, redirect }: ChatAddresses): Record<string, unknown> {
  const short = Array.from(name).slice(0, maxName).join("");
  return {
    display_information: { name: short },
    features: {
      app_home: {
        home_tab_enabled: false,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: short, always_online: true },
    },
    oauth_config: { redirect_urls: [redirect], scopes: { bot: [...botScopes] } },
    settings: {
      event_subscriptions: { request_url: events, bot_events: [...botEvents] },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: true,
    },
  };
}
