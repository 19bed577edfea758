import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSealer, mintToken, randomBase62, sha256 } from "../../../src/platform/secrets.ts";

const oldKey = "an old key of thirty-two characters!";
const newKey = "a new key with thirty-two characters";

describe("sealer", () => {
  it("opens what it sealed, in its own place only", () => {
    const sealer = createSealer([newKey]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), fc.string(), (plain, place, other) => {
        const sealed = sealer.seal(plain, place);
        expect(sealer.open(sealed, place)).toBe(plain);
        if (other !== place) expect(() => sealer.open(sealed, other)).toThrow();
      }),
      { numRuns: 50 },
    );
  });

  it("never seals alike and shows nothing of the secret", () => {
    const sealer = createSealer([newKey]);
    const [one, two] = [sealer.seal("the secret", "x"), sealer.seal("the secret", "x")];
    expect(one).not.toBe(two);
    expect(Buffer.from(one.split(".")[3] ?? "", "base64url").includes("secret")).toBe(false);
  });

  it("refuses a text that was changed anywhere", () => {
    const sealer = createSealer([newKey]);
    const sealed = sealer.seal("secret", "x");
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === "A" ? "B" : "A";
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      // The last character of base64url may hold bits that stand for nothing.
      const [, , nonce = "", body = ""] = changed.split(".");
      const [, , sameNonce = "", sameBody = ""] = sealed.split(".");
      const same = (a: string, b: string) => Buffer.from(a, "base64url").equals(Buffer.from(b, "base64url"));
      const prefixSame = changed.split(".").slice(0, 2).join() === sealed.split(".").slice(0, 2).join();
      if (prefixSame && same(nonce, sameNonce) && same(body, sameBody)) continue;
      expect(() => sealer.open(changed, "x"), changed).toThrow();
    }
    for (const text of ["", "v1", "v1.a.b.c", "....", sealed.slice(0, -8)])
      expect(() => sealer.open(text, "x")).toThrow();
  });

  it("a new key in front seals, the old one still opens, and one that left the list does not", () => {
    const before = createSealer([oldKey]).seal("secret", "x");
    const rotating = createSealer([newKey, oldKey]);
    expect(rotating.open(before, "x")).toBe("secret");
    const after = rotating.seal("secret", "x");
    expect(createSealer([newKey]).open(after, "x")).toBe("secret");
    expect(() => createSealer([newKey]).open(before, "x")).toThrow(/ROLLCALL_SECRET_KEY/);
    expect(() => createSealer([])).toThrow();
  });
});

describe("tokens", () => {
  it("have a prefix, 30 random characters and a checksum of those", () => {
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (let i = 0; i < 50; i++) {
      const token = mintToken("rck");
      expect(token).toMatch(/^rck_[0-9A-Za-z]{36}$/);
      const checksum = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
      expect(checksum).toBe(crc32(token.slice(4, 34)));
    }
  });

  it("use all 62 characters alike", () => {
    const counts = new Map<string, number>();
    for (const char of randomBase62(62_000)) counts.set(char, (counts.get(char) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // A thousand each is expected; six standard deviations are 190.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });

  it("hash as everybody does", () => {
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});
