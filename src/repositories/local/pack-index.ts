import { readFile } from "node:fs/promises";

const HEADER = 8;
const FANOUT = HEADER + 256 * 4;
const ID = 20;
const VERSION_2 = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);

export interface PackIndex {
  /** Where the object with this id (20 bytes) starts in the pack, or undefined when it is not in there. */
  offsetOf(id: Buffer): number | undefined;
}

/**
 * Reads a version 2 pack index. It is kept as the bytes of the file and searched in place: an index of a
 * million objects is then 32 MB for the length of one read and not a map of a million strings.
 */
export async function readPackIndex(file: string): Promise<PackIndex> {
  const bytes = await readFile(file);
  if (bytes.length < FANOUT || bytes.compare(VERSION_2, 0, HEADER, 0, HEADER) !== 0) {
    throw new Error(`${file} is no pack index of version 2`);
  }
  const count = bytes.readUInt32BE(FANOUT - 4);
  const offsets = FANOUT + count * (ID + 4);
  if (bytes.length < offsets + count * 4) throw new Error(`${file} is cut off`);

  const offsetAt = (position: number): number => {
    const small = bytes.readUInt32BE(offsets + position * 4);
    if (small < 0x80000000) return small;
    const large = offsets + count * 4 + (small - 0x80000000) * 8;
    return Number(bytes.readBigUInt64BE(large));
  };

  return {
    offsetOf(id) {
      const bucket = id[0] ?? 0;
      let low = bucket === 0 ? 0 : bytes.readUInt32BE(HEADER + (bucket - 1) * 4);
      let high = bytes.readUInt32BE(HEADER + bucket * 4);
      while (low < high) {
        const middle = (low + high) >>> 1;
        const start = FANOUT + middle * ID;
        const order = id.compare(bytes, start, start + ID);
        if (order === 0) return offsetAt(middle);
        if (order < 0) high = middle;
        else low = middle + 1;
      }
      return undefined;
    },
  };
}
