import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

/** Bytes as they are kept. `encoding` null is gzip. */
export interface StoredPayload {
  payload: Uint8Array;
  encoding: "identity" | null;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Below this gzip saves less of the disk than it costs of the time in which the sender waits. */
const worthCompressing = 8 * 1024;

export async function encodePayload(bytes: Buffer): Promise<StoredPayload> {
  if (bytes.length < worthCompressing) return { payload: bytes, encoding: "identity" };
  return { payload: await compress(bytes), encoding: null };
}

export async function decodePayload({ payload, encoding }: StoredPayload): Promise<Buffer> {
  return encoding === "identity" ? Buffer.from(payload) : decompress(payload);
}
