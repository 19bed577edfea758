import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

export const webhookSecret = "a-webhook-secret-of-more-than-32-characters";

// biome-ignore lint/suspicious/noExplicitAny: payloads of every event
export type Payload = any;

/** One of GitHub's example payloads, by its file's name. */
export function examplePayload(name: string): Payload {
  return JSON.parse(readFileSync(new URL(`../fixtures/github/${name}.json`, import.meta.url), "utf8"));
}

/** GitHub's example of a push to a branch, as one to `acme/agents`. */
export function pushPayload(changes: Record<string, unknown> = {}): Payload {
  const payload = examplePayload("push");
  const repository = { ...payload.repository, full_name: "acme/agents", default_branch: "main" };
  return { ...payload, ref: "refs/heads/main", repository, ...changes };
}

export const signatureOf = (bytes: Uint8Array | string, secret = webhookSecret) =>
  `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`;
