import { z } from "zod";
import { fromJson, toJson } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { createNewestKept } from "../platform/newest-kept.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Sealer } from "../platform/secrets.ts";
import type { ChatCredentials, ChatTokens } from "./platforms/index.ts";

const Credentials = z
  .object({ clientId: z.string(), clientSecret: z.string(), signingSecret: z.string() })
  .partial();
export type PartialCredentials = z.infer<typeof Credentials>;

const Tokens = z.object({ accessToken: z.string(), refreshToken: z.string().optional() });

/** The secrets of chat apps as they are kept: sealed, each opening for its own app alone. */
export interface ChatSecrets {
  sealCredentials(id: string, credentials: PartialCredentials): string;
  /** What is set of them; nothing of a text that cannot be opened any more. */
  credentials(app: { id: string; credentials: string | null }): PartialCredentials;
  sealTokens(id: string, tokens: ChatTokens): string;
  /** Undefined when there are none, or they cannot be opened any more. */
  tokens(app: { id: string; tokens: string | null }): ChatTokens | undefined;
}

/** All of them, or undefined. */
export function completed({
  clientId,
  clientSecret,
  signingSecret,
}: PartialCredentials): ChatCredentials | undefined {
  if (clientId === undefined || clientSecret === undefined || signingSecret === undefined) return undefined;
  return { clientId, clientSecret, signingSecret };
}

/** Texts that are kept open; far more than there are chat apps. */
const limit = 200;

/** What was opened is registered at the redactor, and the newest is remembered: every event asks for it. */
export function createChatSecrets({
  sealer,
  redactor,
  logger,
}: {
  sealer: Sealer;
  redactor: Redactor;
  logger: Logger;
}): ChatSecrets {
  const kept = createNewestKept<unknown>(limit);
  const context = (id: string, part: string) => `chat-apps:${id}:${part}`;

  function seal(id: string, part: string, secrets: Record<string, string | undefined>): string {
    for (const secret of Object.values(secrets)) redactor.register(secret);
    return sealer.seal(toJson(secrets), context(id, part));
  }

  function open<S extends z.ZodType>(sealed: string, where: string, schema: S): z.infer<S> | undefined {
    return kept(`${where}\n${sealed}`, () => openAnew(sealed, where, schema)) as z.infer<S> | undefined;
  }

  function openAnew<S extends z.ZodType>(sealed: string, where: string, schema: S): z.infer<S> | undefined {
    try {
      const value = fromJson(schema, sealer.open(sealed, where));
      for (const secret of Object.values(value as Record<string, string>)) redactor.register(secret);
      return value;
    } catch (error) {
      logger.error({ err: error, secret: where }, "sealed secret cannot be opened; set it again");
      return undefined;
    }
  }

  return {
    sealCredentials: (id, credentials) => seal(id, "credentials", { ...credentials }),
    sealTokens: (id, { accessToken, refreshToken }) => seal(id, "tokens", { accessToken, refreshToken }),
    credentials: ({ id, credentials }) =>
      (credentials === null ? undefined : open(credentials, context(id, "credentials"), Credentials)) ?? {},
    tokens: ({ id, tokens }) => (tokens === null ? undefined : open(tokens, context(id, "tokens"), Tokens)),
  };
}
