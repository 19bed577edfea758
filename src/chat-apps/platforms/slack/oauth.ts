import { z } from "zod";
import { ChatFailure } from "../failure.ts";
import type { ChatCredentials, Installation, IssuedTokens } from "../platform.ts";
import type { SlackCall } from "./client.ts";
import { botScopes } from "./manifest.ts";

const Tokens = z.object({
  access_token: z.string().min(1),
  token_type: z.literal("bot"),
  refresh_token: z.string().min(1).optional(),
  expires_in: z.number().positive().optional(),
});

const Installed = Tokens.extend({
  bot_user_id: z.string().min(1).max(100),
  team: z.object({ id: z.string().min(1).max(100), name: z.string().default("") }).nullish(),
});

const method = "oauth.v2.access";

/** Where a browser is sent to install the app. */
export function authorizeUrl(
  apiUrl: string,
  { clientId, state, redirectUri }: { clientId: string; state: string; redirectUri: string },
): string {
  const url = new URL("../oauth/v2/authorize", `${apiUrl}/`);
  url.search = new URLSearchParams({
    client_id: clientId,
    scope: botScopes.join(","),
    state,
    redirect_uri: redirectUri,
  }).toString();
  return url.href;
}

export async function exchangeCode(
  call: SlackCall,
  { clientId, clientSecret }: ChatCredentials,
  code: string,
  redirectUri: string,
): Promise<Installation> {
  const answer = await call(method, {
    client_id: clientId,
    client_secret: clientSecret,
    code,
    redirect_uri: redirectUri,
  });
  const installed = read(Installed, answer);
  if (!installed.team)
    throw new ChatFailure(
      "refused",
      "The app was installed for a whole organisation; install it in one workspace.",
    );
  const { team, bot_user_id: botUserId } = installed;
  return { ...issued(installed), teamId: team.id, teamName: team.name, botUserId };
}

export async function refreshTokens(
  call: SlackCall,
  { clientId, clientSecret }: ChatCredentials,
  refreshToken: string,
): Promise<IssuedTokens> {
  const answer = await call(method, {
    client_id: clientId,
    client_secret: clientSecret,
    grant_type: "refresh_token",
    refresh_token: refreshToken,
  });
  return issued(read(Tokens, answer));
}

function issued({ access_token, refresh_token, expires_in }: z.infer<typeof Tokens>): IssuedTokens {
  return {
    accessToken: access_token,
    refreshToken: refresh_token,
    expiresInMs: expires_in === undefined ? undefined : expires_in * 1000,
  };
}

function read<S extends z.ZodType>(schema: S, answer: unknown): z.infer<S> {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) throw new ChatFailure("refused", `Slack's answer to ${method} has no token of a bot.`);
  return parsed.data;
}
