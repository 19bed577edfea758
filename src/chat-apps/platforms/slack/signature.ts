import { createHmac, timingSafeEqual } from "node:crypto";
import type { SignedRequest } from "../platform.ts";

/** How far the clocks may be apart, and how old a signed request may be. */
const toleranceMs = 300_000;

/** Slack's v0 signature: `v0=` and the hex of HMAC-SHA256 over `v0:timestamp:body`. `now` in epoch milliseconds. */
export function isSlackSigned(secret: string, { header, body }: SignedRequest, now: number): boolean {
  const timestamp = header("x-slack-request-timestamp") ?? "";
  const [, hex = ""] = /^v0=([0-9a-f]{64})$/.exec(header("x-slack-signature") ?? "") ?? [];
  if (secret === "" || hex === "" || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now - Number(timestamp) * 1000) > toleranceMs) return false;
  const expected = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest();
  return timingSafeEqual(Buffer.from(hex, "hex"), expected);
}
