import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` base62 characters, each equally likely: bytes that would favour some characters are thrown away. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}

/** `<prefix>_` + 30 random characters + 6 of checksum, a shape that secret scanners recognise. */
export function mintToken(prefix: string): string {
  const random = randomBase62(30);
  let rest = crc32(random);
  let checksum = "";
  for (let i = 0; i < 6; i++) {
    checksum = base62[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return `${prefix}_${random}${checksum}`;
}

/** SHA-256 in hex. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Encrypts small secrets for the database. */
export interface Sealer {
  /** `context` names the place where the sealed text is kept; it opens nowhere else. */
  seal(plain: string, context: string): string;
  /** Throws when no key fits, the text was changed, or the context is another one. */
  open(sealed: string, context: string): string;
}

/**
 * AES-256-GCM with a fresh nonce each time. `keys` are the texts of ROLLCALL_SECRET_KEY, newest first: the
 * first one seals, all of them open, which is how a key is rotated.
 */
export function createSealer(keys: readonly string[]): Sealer {
  const derived = keys.map((text) => {
    const key = createHash("sha256").update("rollcall sealing key\0").update(text).digest();
    return { key, id: sha256(key).slice(0, 8) };
  });
  const newest = derived[0];
  if (!newest) throw new Error("A sealing key is needed.");

  return {
    seal(plain, context) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", newest.key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `v1.${newest.id}.${nonce.toString("base64url")}.${body.toString("base64url")}`;
    },
    open(sealed, context) {
      const [version, id, nonce = "", body = ""] = sealed.split(".");
      const entry = derived.find((candidate) => candidate.id === id);
      if (version !== "v1" || !entry) {
        throw new Error("A sealed secret was made with a key that ROLLCALL_SECRET_KEY no longer lists.");
      }
      const bytes = Buffer.from(body, "base64url");
      const decipher = createDecipheriv("aes-256-gcm", entry.key, Buffer.from(nonce, "base64url"))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-16));
      return decipher.update(bytes.subarray(0, -16), undefined, "utf8") + decipher.final("utf8");
    },
  };
}
