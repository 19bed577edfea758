import type { WebClient } from "@slack/web-api";
import { ChatFailure } from "../failure.ts";

export type SlackCall = (
  method: string,
  options: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

/** Slack answers in well under a second, or is in trouble. */
const timeoutMs = 10_000;

const unauthorised = new Set([
  "account_inactive",
  "app_not_installed",
  "bot_not_found",
  "invalid_auth",
  "invalid_refresh_token",
  "not_authed",
  "token_expired",
  "token_revoked",
]);
const gone = new Set(["cant_update_message", "edit_window_closed", "message_not_found"]);
const passing = new Set([
  "fatal_error",
  "internal_error",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org",
]);

const silent = () => {};
const silentLogger = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  setLevel: silent,
  getLevel: () => "error" as never,
  setName: silent,
};

/** Calls of Slack's Web API through its own client, which is loaded by the first of them. */
export function createSlackCall(apiUrl: string): SlackCall {
  let client: Promise<WebClient> | undefined;

  async function load(): Promise<WebClient> {
    const { WebClient } = await import("@slack/web-api");
    return new WebClient(undefined, {
      slackApiUrl: apiUrl,
      // Jobs are what tries again and what waits: they survive this process, and the queue shows them.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: timeoutMs,
      // It would log what users write.
      logger: silentLogger,
    });
  }

  return async (method, options) => {
    client ??= load();
    try {
      return { ...(await (await client).apiCall(method, options)) };
    } catch (error) {
      throw toFailure(method, error);
    }
  };
}

/** By their codes: the library comes from an import that only happens here. */
function toFailure(method: string, error: unknown): ChatFailure {
  const { code, data, retryAfter, statusCode } = (error ?? {}) as {
    code?: unknown;
    data?: { error?: unknown };
    retryAfter?: unknown;
    statusCode?: unknown;
  };
  if (code === "slack_webapi_rate_limited_error")
    return new ChatFailure("rate_limited", `Slack limits ${method}.`, Number(retryAfter) * 1000);
  if (code === "slack_webapi_platform_error") return platformFailure(method, data?.error);
  const detail = code === "slack_webapi_http_error" ? ` (status ${Number(statusCode)})` : "";
  return new ChatFailure("unavailable", `Slack could not be reached for ${method}${detail}.`);
}

function platformFailure(method: string, error: unknown): ChatFailure {
  // What is no word is a body that could not be read: something between Slack and us has answered.
  const word = typeof error === "string" && /^[a-z][a-z0-9_]{0,60}$/.test(error) ? error : undefined;
  if (word === undefined)
    return new ChatFailure("unavailable", `Slack's answer to ${method} could not be read.`);
  const said = `Slack refused ${method}: ${word}.`;
  if (word === "ratelimited" || word === "rate_limited") return new ChatFailure("rate_limited", said, 1_000);
  if (unauthorised.has(word)) return new ChatFailure("unauthorised", said);
  if (gone.has(word)) return new ChatFailure("gone", said);
  return new ChatFailure(passing.has(word) ? "unavailable" : "refused", said);
}
