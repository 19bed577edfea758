import { z } from "zod";
import type { Tx } from "../platform/db/index.ts";
import { type JobKind, type JobQueue, RetryLater } from "../platform/jobs/index.ts";
import { ChatFailure, type ChatPlatforms, platformNames } from "./platforms/index.ts";
import type { ChatSecrets } from "./sealing.ts";
import type { ChatAppRow } from "./store.ts";

const kind = "chat.revoke";

/** The tokens travel sealed: their row may be gone. */
const Payload = z.object({ id: z.string(), platform: z.enum(platformNames), tokens: z.string() });

/** Has the platform take back what the app is installed with, if it is, once the transaction is committed. */
export async function requestRevocation(
  tx: Tx,
  queue: JobQueue,
  { id, platform, tokens }: Pick<ChatAppRow, "id" | "platform" | "tokens">,
): Promise<void> {
  if (tokens !== null) await queue.enqueue(tx, { kind, payload: { id, platform, tokens } });
}

/** Best effort: what cannot be taken back after some tries expires at the platform or is removed there by hand. */
export function revokeJob({
  secrets,
  platforms,
}: {
  secrets: ChatSecrets;
  platforms: ChatPlatforms;
}): JobKind<typeof Payload> {
  return {
    kind,
    payload: Payload,
    concurrency: 2,
    maxAttempts: 8,
    backoff: { base: 2_000, cap: 300_000 },
    async handle({ payload: { id, platform, tokens: sealed } }) {
      const tokens = secrets.tokens({ id, tokens: sealed });
      if (!tokens) return;
      try {
        await platforms[platform].revoke(tokens.accessToken);
      } catch (error) {
        if (!(error instanceof ChatFailure)) throw error;
        if (error.kind === "unavailable" || error.kind === "rate_limited")
          throw new RetryLater(error.message, error.retryAfterMs);
      }
    },
  };
}
