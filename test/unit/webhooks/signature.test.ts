import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeSigningSecret, isSigned, mintSigningSecret } from "../../../src/webhooks/signature.ts";

/** The example of the Standard Webhooks specification's own libraries. */
const published = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: "1614265330",
  body: Buffer.from('{"test": 2432232314}'),
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const now = 1_614_265_330_000;

const check = (changed: Partial<typeof published> = {}, at = now) => {
  const { secret, id, timestamp, body, signature } = { ...published, ...changed };
  return isSigned(secret, { id, timestamp, signature }, body, at);
};

const sign = (secret: string, text: string) =>
  `v1,${createHmac("sha256", decodeSigningSecret(secret) ?? "")
    .update(text)
    .digest("base64")}`;

describe("signatures of Standard Webhooks", () => {
  it("takes the published example, alone and among others", () => {
    expect(check()).toBe(true);
    expect(check({ signature: `v1,AAAA v1a,zzz ${published.signature}` })).toBe(true);
  });

  it("takes five minutes on both sides and no more", () => {
    expect([-300_000, 300_000].map((ms) => check({}, now + ms))).toEqual([true, true]);
    expect([-300_001, 300_001].map((ms) => check({}, now + ms))).toEqual([false, false]);
  });

  it("refuses what was changed, left out or is of another shape", () => {
    const bare = published.signature.slice(3);
    for (const signature of ["", bare, `v2,${bare}`, `v1,${bare.slice(0, -4)}`, `v1${bare}`, "v1,"])
      expect(check({ signature }), signature).toBe(false);
    for (const id of ["", "msg_x", `${published.id} `]) expect(check({ id }), id).toBe(false);
    for (const timestamp of ["", "1614265331", "1614265330.0", "-1", "1e9"])
      expect(check({ timestamp }), timestamp).toBe(false);
    expect(check({ body: Buffer.from('{"test": 2432232315}') })).toBe(false);
    expect(check({ secret: mintSigningSecret() })).toBe(false);
    const { secret, body } = published;
    expect(isSigned(secret, { id: undefined, timestamp: undefined, signature: undefined }, body, now)).toBe(
      false,
    );
  });

  it("takes no other id, instant or body for one that was signed, whatever stands in them", () => {
    const { secret } = published;
    const part = fc.stringMatching(/^[\w.]{1,12}$/);
    fc.assert(
      fc.property(part, fc.string(), part, fc.string(), (id, body, otherId, otherBody) => {
        const timestamp = String(now / 1000);
        const signature = sign(secret, `${id}.${timestamp}.${body}`);
        const taken = (name: string, text: string) =>
          isSigned(secret, { id: name, timestamp, signature }, Buffer.from(text), now);
        expect(taken(id, body)).toBe(!id.includes("."));
        if (id !== otherId || body !== otherBody) expect(taken(otherId, otherBody)).toBe(false);
      }),
    );
  });

  it("knows secrets by their form and mints fitting ones", () => {
    const encoded = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
    expect(decodeSigningSecret(mintSigningSecret())).toHaveLength(32);
    expect([24, 64].map((bytes) => decodeSigningSecret(encoded(bytes))?.length)).toEqual([24, 64]);
    const unfit = [
      encoded(23),
      encoded(65),
      encoded(32).slice(6),
      "whsec_",
      "whsec_not base64 at all, but long",
    ];
    for (const secret of unfit) expect(decodeSigningSecret(secret), secret).toBeUndefined();
  });
});
