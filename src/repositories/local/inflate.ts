import { promisify } from "node:util";
import { constants, inflate as inflateCallback, inflateSync } from "node:zlib";

const inflateAsync = promisify(inflateCallback);

/** Below this a worker-thread round trip costs more than the work; above it the event loop would stall. */
const SYNC_BYTES = 64 * 1024;

/**
 * Inflates a zlib stream that must give exactly `size` bytes; what follows the stream is ignored. Memory is
 * bounded by `size` whatever the stream claims. Throws on damaged, short or long content.
 */
export async function inflateExactly(compressed: Uint8Array, size: number): Promise<Uint8Array> {
  // One chunk that just fits: zlib's default would keep 16 KB alive for each small file.
  const options = { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, 64) };
  const bytes =
    size <= SYNC_BYTES ? inflateSync(compressed, options) : await inflateAsync(compressed, options);
  if (bytes.length !== size) throw new Error(`expected ${size} bytes, found ${bytes.length}`);
  return bytes;
}

/** Inflates as much as the first part of a zlib stream gives. */
export function inflateStart(compressed: Uint8Array): Buffer {
  return inflateSync(compressed, { finishFlush: constants.Z_SYNC_FLUSH });
}
