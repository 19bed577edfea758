import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifyDelivery } from "../../../src/integrations/composio/verify.ts";

const secret = "whsec_bm90IGRlY29kZWQ=";
const now = 1_790_000_000_000;
const seconds = now / 1_000;

function signed({ key = secret, id = "msg_1", timestamp = String(seconds), body = '{"a":1}' } = {}) {
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers: Record<string, string | undefined> = {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac}`,
  };
  return { headers, body: Buffer.from(body) };
}

const verify = (
  { headers, body }: { headers: Record<string, string | undefined>; body: Buffer },
  at = now,
  key: string | undefined = secret,
) => verifyDelivery({ header: (name) => headers[name], body }, key, at);

describe("a delivery's signature", () => {
  test("is made with the secret's own text", () => {
    // Computed with `openssl dgst -sha256 -hmac whsec_bm90IGRlY29kZWQ= -binary | base64` over the same bytes.
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": "1790000000",
      "webhook-signature": "v1,Aa8r0VUjsZmQUQSqJL870V2yykN2ak5m11nY/sashac=",
    };
    const delivery = { headers, body: Buffer.from('{"a":1}') };
    expect(verify(delivery)).toEqual({ ok: true, deliveryId: "msg_1" });
  });

  test("may be one of several", () => {
    const delivery = signed();
    const own = delivery.headers["webhook-signature"];
    const other = signed({ key: "another secret" }).headers["webhook-signature"];
    delivery.headers["webhook-signature"] = `${other} v2,abc  ${own}`;
    expect(verify(delivery).ok).toBe(true);
    delivery.headers["webhook-signature"] = `${Array(10).fill(other).join(" ")} ${own}`;
    expect(verify(delivery)).toEqual({ ok: false, reason: "bad_signature" });
  });

  test.each(["webhook-id", "webhook-timestamp", "webhook-signature"])("is not enough without %s", (name) => {
    const delivery = signed();
    for (const value of [undefined, ""]) {
      delivery.headers[name] = value;
      expect(verify(delivery)).toEqual({ ok: false, reason: "missing_header" });
    }
  });

  test.each([undefined, ""])("is not taken when the secret is %j", (key) => {
    const delivery = signed({ key: "" });
    const { headers, body } = delivery;
    expect(verifyDelivery({ header: (name) => headers[name], body }, key, now)).toEqual({
      ok: false,
      reason: "no_secret",
    });
  });

  test.each(["", "v1", "v1,", "v1,====", "v0,abc", "abc", "v1,é", "v1 ,", "\t"])(
    "is refused when it is %j",
    (text) => {
      const delivery = signed();
      delivery.headers["webhook-signature"] = text;
      expect(verify(delivery).ok).toBe(false);
    },
  );

  test("is refused for any other bytes, id, time or signature", () => {
    const parts = ["body", "webhook-id", "webhook-timestamp", "webhook-signature"] as const;
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.constantFrom(...parts),
        fc.nat(),
        fc.integer({ min: 0, max: 7 }),
        (bytes, part, position, bit) => {
          const body = Buffer.from(bytes);
          const mac = createHmac("sha256", secret).update(`msg_1.${seconds}.`).update(body).digest("base64");
          const headers: Record<string, string | undefined> = {
            "webhook-id": "msg_1",
            "webhook-timestamp": String(seconds),
            "webhook-signature": `v1,${mac}`,
          };
          expect(verify({ headers, body }).ok).toBe(true);
          const flip = (target: Buffer) => {
            const at = position % target.length;
            target[at] = (target[at] ?? 0) ^ (1 << bit);
            return target;
          };
          if (part === "body") flip(body);
          else headers[part] = flip(Buffer.from(headers[part] ?? "")).toString("latin1");
          expect(verify({ headers, body }).ok).toBe(false);
        },
      ),
    );
  });
});

describe("a delivery's age", () => {
  test.each([
    [299, true],
    [300, true],
    [301, false],
    [-299, true],
    [-300, true],
    [-301, false],
  ])("%i seconds away is ok: %s", (away, ok) => {
    const verdict = verify(signed({ timestamp: String(seconds + away) }));
    expect(verdict).toEqual(ok ? { ok: true, deliveryId: "msg_1" } : { ok: false, reason: "stale" });
  });

  test.each(["1.79e9", "-1790000000", " 1790000000", "0x6ab", "1790000000000", "NaN", "17900000001234"])(
    "is not read from %j",
    (timestamp) => {
      expect(verify(signed({ timestamp })).ok).toBe(false);
    },
  );
});
