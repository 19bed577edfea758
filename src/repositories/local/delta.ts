/** Thrown for bytes that are no Git delta of the given base. */
export class BrokenDelta extends Error {}

interface Cursor {
  bytes: Uint8Array;
  at: number;
}

function nextByte(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at];
  if (byte === undefined) throw new BrokenDelta("the delta ends too early");
  cursor.at += 1;
  return byte;
}

/** Little-endian base-128 number; multiplication, because shifts end at 32 bits. */
function nextSize(cursor: Cursor): number {
  let size = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = nextByte(cursor);
    size += (byte & 127) * factor;
    if (byte < 128) return size;
  }
}

/** Up to four little-endian bytes of which only those flagged in `present` are stored. */
function nextSparse(cursor: Cursor, present: number): number {
  let value = 0;
  for (let bit = 0; bit < 4; bit++) {
    if (present & (1 << bit)) value += nextByte(cursor) * 256 ** bit;
  }
  return value;
}

/** Bytes that the object will have once the delta is applied. */
export function deltaResultSize(delta: Uint8Array): number {
  const cursor = { bytes: delta, at: 0 };
  nextSize(cursor);
  return nextSize(cursor);
}

/** Rebuilds an object from its base. Throws BrokenDelta when the two do not belong together. */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array {
  const cursor: Cursor = { bytes: delta, at: 0 };
  if (nextSize(cursor) !== base.length) throw new BrokenDelta("the delta belongs to another base");
  const size = nextSize(cursor);
  // Memory is taken for what is there, not for what a broken delta says there will be.
  const parts: Uint8Array[] = [];
  let length = 0;
  while (cursor.at < delta.length) {
    const part = nextPart(cursor, base);
    length += part.length;
    if (length > size) throw new BrokenDelta("the delta writes too much");
    parts.push(part);
  }
  if (length !== size) throw new BrokenDelta("the delta writes too little");
  return joined(parts, length);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const result = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

function nextPart(cursor: Cursor, base: Uint8Array): Uint8Array {
  const code = nextByte(cursor);
  if (code === 0) throw new BrokenDelta("the delta has an unknown instruction");
  const copies = code >= 128;
  const start = copies ? nextSparse(cursor, code & 15) : cursor.at;
  // A copy length has three bytes at most, and zero stands for 64 KiB.
  const length = copies ? nextSparse(cursor, (code >> 4) & 7) || 0x10000 : code;
  const source = copies ? base : cursor.bytes;
  if (start + length > source.length) throw new BrokenDelta("the delta reads past its source");
  if (!copies) cursor.at += length;
  return source.subarray(start, start + length);
}
