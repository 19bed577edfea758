import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** The headers of a signed call, as they came. */
export interface SignatureHeaders {
  id: string | undefined;
  timestamp: string | undefined;
  signature: string | undefined;
}

const prefix = "whsec_";

/** How far the sender's clock may be off, and how old a signed call may be. */
const toleranceMs = 300_000;

/** A fresh secret of Standard Webhooks: 32 random bytes. */
export const mintSigningSecret = () => prefix + randomBytes(32).toString("base64");

/** The key that a secret stands for; undefined unless it is `whsec_` and the base64 of 24 to 64 bytes. */
export function decodeSigningSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined;
  const text = secret.slice(prefix.length);
  const key = Buffer.from(text, "base64");
  const unpadded = (base64: string) => base64.replace(/=+$/, "");
  const exact = unpadded(key.toString("base64")) === unpadded(text);
  return exact && key.length >= 24 && key.length <= 64 ? key : undefined;
}

/**
 * Whether a body was signed as Standard Webhooks have it: HMAC-SHA256 in base64 over `id.timestamp.body`, one of
 * several `v1,` signatures that spaces part, not older and not younger than five minutes. `now` in epoch
 * milliseconds.
 */
export function isSigned(
  secret: string,
  { id, timestamp, signature }: SignatureHeaders,
  body: Uint8Array,
  now: number,
): boolean {
  const key = decodeSigningSecret(secret);
  // With a dot in the id it could not be told where the timestamp begins.
  if (!key || !id || id.includes(".") || !timestamp || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now - Number(timestamp) * 1000) > toleranceMs) return false;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  return (signature ?? "").split(" ").some((part) => {
    const given = Buffer.from(part.startsWith("v1,") ? part.slice(3) : "", "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
