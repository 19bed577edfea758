import { createHmac, timingSafeEqual } from "node:crypto";
import type { DeliveryParts, Verdict } from "../ports.ts";

/** How far the sender's clock may be off, both ways. */
const toleranceMs = 300_000;

/** While a secret is rotated there may be several signatures; nobody needs this many. */
const maxSignatures = 10;

/**
 * Checks a delivery against Composio's scheme: HMAC-SHA256 over `id.timestamp.body`, keyed with the secret's
 * own text. It looks like Standard Webhooks and is not, since the secret is never base64-decoded.
 */
export function verifyDelivery(
  { header, body }: DeliveryParts,
  secret: string | undefined,
  now: number,
): Verdict {
  if (!secret) return { ok: false, reason: "no_secret" };
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  const signatures = header("webhook-signature");
  if (!id || !timestamp || !signatures) return { ok: false, reason: "missing_header" };
  if (!/^\d{1,12}$/.test(timestamp)) return { ok: false, reason: "bad_timestamp" };
  const expected = signatureOf(secret, id, timestamp, body);
  // The signature comes first: only who knows the secret is told that a delivery is too old.
  if (!matches(signatures, expected)) return { ok: false, reason: "bad_signature" };
  if (Math.abs(now - Number(timestamp) * 1_000) > toleranceMs) return { ok: false, reason: "stale" };
  return { ok: true, deliveryId: id };
}

function signatureOf(secret: string, id: string, timestamp: string, body: Uint8Array): Buffer {
  const hmac = createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body);
  return Buffer.from(`v1,${hmac.digest("base64")}`);
}

/** Compared as text: several base64 texts decode to the same bytes. */
function matches(signatures: string, expected: Buffer): boolean {
  const given = signatures.trim().split(/\s+/).slice(0, maxSignatures);
  return given
    .map((text) => Buffer.from(text))
    .map((bytes) => bytes.length === expected.length && timingSafeEqual(bytes, expected))
    .includes(true);
}
