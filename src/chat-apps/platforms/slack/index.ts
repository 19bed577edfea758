import { z } from "zod";
import { ChatFailure } from "../failure.ts";
import type { ChatPlatform } from "../platform.ts";
import { createSlackCall } from "./client.ts";
import { slackManifest } from "./manifest.ts";
import { plainText, toMrkdwn } from "./mrkdwn.ts";
import { authorizeUrl, exchangeCode, refreshTokens } from "./oauth.ts";
import { partialText } from "./partial-text.ts";
import { readSlackRequest } from "./read-request.ts";
import { isSlackSigned } from "./signature.ts";
import { splitText } from "./split-text.ts";

export interface SlackDeps {
  /** Address of Slack's Web API, without a slash at its end. */
  slackUrl: string;
}

/** Slack cuts texts of more than 4,000 characters and blocks of more than 3,000: what fits both fits everywhere. */
const maxText = 3_000;

/**
 * Slack lets an app change "50+" messages a minute in one workspace: chat.update is of tier 3, see "Rate limits" in the
 * documentation of its Web API. Ten are left for answers.
 */
const updatesPerMinute = 40;

/** Names in what a model writes are text: they call nobody. */
const noMentions = { link_names: false };

/** Links in it are fetched by nobody for a preview. */
const noPreviews = { unfurl_links: false, unfurl_media: false };

const Posted = z.object({ ts: z.string().min(1).max(100) });

const User = z.object({
  user: z.object({
    deleted: z.boolean().optional(),
    is_bot: z.boolean().optional(),
    is_email_confirmed: z.boolean().optional(),
    profile: z.object({ email: z.string().optional() }).optional(),
  }),
});

export function createSlack({ slackUrl }: SlackDeps): ChatPlatform {
  const call = createSlackCall(slackUrl);
  const { hostname, origin, protocol } = new URL(slackUrl);
  return {
    id: "slack",
    isSigned: isSlackSigned,
    read: readSlackRequest,
    // From there Slack leads on to the workspace's own host, and some browsers check all of the way.
    formTargets: protocol === "https:" ? [origin, `https://*.${hostname}`] : [origin],
    authorizeUrl: (input) => authorizeUrl(slackUrl, input),
    manifest: slackManifest,
    exchange: (credentials, code, redirectUri) => exchangeCode(call, credentials, code, redirectUri),
    refresh: (credentials, refreshToken) => refreshTokens(call, credentials, refreshToken),
    async revoke(token) {
      await call("auth.revoke", { token });
    },
    async check(token) {
      await call("auth.test", { token });
    },
    async user(token, userId) {
      const parsed = User.safeParse(await call("users.info", { token, user: userId }));
      if (!parsed.success) throw new ChatFailure("refused", "Slack's answer to users.info has no user.");
      const { deleted, is_bot, is_email_confirmed, profile } = parsed.data.user;
      const verified = is_email_confirmed === true && !deleted && !is_bot;
      return { verifiedEmail: verified ? profile?.email : undefined };
    },
    async post(token, { channel, thread, text }) {
      const options = { token, channel, thread_ts: thread, text, ...noMentions, ...noPreviews };
      const parsed = Posted.safeParse(await call("chat.postMessage", options));
      if (!parsed.success) throw new ChatFailure("refused", "Slack's answer to chat.postMessage has no ts.");
      return parsed.data.ts;
    },
    async update(token, { channel, ts, text }) {
      await call("chat.update", { token, channel, ts, text, ...noMentions });
    },
    plainText,
    updatesPerMinute,
    renderPartial: (markdown) => partialText(markdown, maxText),
    render: (markdown) => splitText(toMrkdwn(markdown), maxText),
  };
}
