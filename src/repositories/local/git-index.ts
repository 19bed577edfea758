import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";

/** A line of the index. Its bytes are kept as they are for all lines that are not set anew. */
interface IndexLine {
  name: Buffer;
  /** 0 unless a merge has left several versions of the file. */
  stage: number;
  id: string;
  /** Such as 0o100644. */
  mode: number;
  bytes: Buffer;
}

/** What a working tree has checked out, as far as it is understood here. */
export interface GitIndex {
  lines: readonly IndexLine[];
}

/** The index is sound and yet not to be written here; the message names the reason, without an end. */
export class IndexNotWritable extends Error {}

const HEADER_BYTES = 12;
/** Of a line, before the name. */
const FIXED_BYTES = 62;
const HASH_BYTES = 20;
const EXTENDED_FLAG = 0x4000;
const NAME_MASK = 0xfff;

/** Extensions by which the rest of the index means something else, or that another program keeps up. */
const refusedExtensions = new Map([
  ["link", "it is split into two files"],
  ["sdir", "it is sparse"],
  ["FSMN", "a file system monitor keeps it up"],
]);

/** Reads an index of version 2. Throws IndexNotWritable for other forms, and an Error for a damaged one. */
export function parseIndex(bytes: Buffer): GitIndex {
  const end = bytes.length - HASH_BYTES;
  if (end < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC")
    throw new Error("the index is damaged");
  const trailer = bytes.subarray(end);
  // Git leaves the hash out when it is told to.
  if (!trailer.every((byte) => byte === 0) && !trailer.equals(hashOf(bytes.subarray(0, end))))
    throw new Error("the index is damaged");
  const version = bytes.readUInt32BE(4);
  if (version !== 2) throw new IndexNotWritable(`its index has version ${version}, not 2`);
  const lines: IndexLine[] = [];
  let at = HEADER_BYTES;
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const line = parseLine(bytes, at, end);
    lines.push(line);
    at += line.bytes.length;
  }
  refuseExtensions(bytes.subarray(at, end));
  return { lines };
}

function parseLine(bytes: Buffer, at: number, end: number): IndexLine {
  const nameAt = at + FIXED_BYTES;
  if (nameAt >= end) throw new Error("the index is damaged");
  const flags = bytes.readUInt16BE(nameAt - 2);
  if (flags & EXTENDED_FLAG) throw new Error("the index is damaged");
  const nul = bytes.indexOf(0, nameAt);
  if (nul === -1 || nul >= end) throw new Error("the index is damaged");
  return {
    name: bytes.subarray(nameAt, nul),
    stage: (flags >> 12) & 3,
    id: bytes.toString("hex", at + 40, at + 40 + HASH_BYTES),
    mode: bytes.readUInt32BE(at + 24),
    bytes: bytes.subarray(at, at + lineBytes(nul - nameAt)),
  };
}

/** What is optional in an index may be left out of the next one; Git makes it again. */
function refuseExtensions(rest: Buffer): void {
  for (let at = 0; at + 8 <= rest.length; at += 8 + rest.readUInt32BE(at + 4)) {
    const signature = rest.toString("latin1", at, at + 4);
    const reason = refusedExtensions.get(signature);
    if (reason !== undefined) throw new IndexNotWritable(`${reason.replace(/^it/, "its index")}`);
    // By Git's rule whoever does not know one with a small letter must not go on.
    if (/^[^A-Z]/.test(signature)) throw new IndexNotWritable(`its index has the extension ${signature}`);
  }
}

/** A file as the index is to have it; without `stat` Git looks at the file itself the next time. */
export interface NewIndexLine {
  path: string;
  id: string;
  mode: number;
  stat: BigIntStats | undefined;
}

/** The index with these lines in the place of those of their paths, as bytes; without optional extensions. */
export function writeIndex({ lines }: GitIndex, changed: readonly NewIndexLine[]): Buffer {
  const paths = new Set(changed.map(({ path }) => path));
  const kept = lines.filter(({ name }) => !paths.has(name.toString()));
  const all = [...kept, ...changed.map(makeLine)].sort(
    (a, b) => Buffer.compare(a.name, b.name) || a.stage - b.stage,
  );
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("DIRC", "latin1");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(all.length, 8);
  const body = Buffer.concat([header, ...all.map(({ bytes }) => bytes)]);
  return Buffer.concat([body, hashOf(body)]);
}

function makeLine({ path, id, mode, stat }: NewIndexLine): IndexLine {
  const name = Buffer.from(path);
  const bytes = Buffer.alloc(lineBytes(name.length));
  if (stat) {
    for (const [position, value] of statWords(stat).entries()) bytes.writeUInt32BE(value, position * 4);
  }
  bytes.writeUInt32BE(mode, 24);
  bytes.write(id, 40, "hex");
  bytes.writeUInt16BE(Math.min(name.length, NAME_MASK), FIXED_BYTES - 2);
  name.copy(bytes, FIXED_BYTES);
  return { name, stage: 0, id, mode, bytes };
}

/** The words of a line in their order; the one for the mode is set by itself. Git keeps 32 bits of each. */
function statWords(stat: BigIntStats): number[] {
  const second = 1_000_000_000n;
  const { ctimeNs, mtimeNs, dev, ino, uid, gid, size } = stat;
  const words = [ctimeNs / second, ctimeNs % second, mtimeNs / second, mtimeNs % second];
  return [...words, dev, ino, 0n, uid, gid, size].map((value) => Number(BigInt.asUintN(32, value)));
}

/** Padded with 1 to 8 zeros to a multiple of 8. */
const lineBytes = (nameBytes: number) => (FIXED_BYTES + nameBytes + 8) & ~7;

const hashOf = (bytes: Buffer) => createHash("sha1").update(bytes).digest();
