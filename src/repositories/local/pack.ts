import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import type { ObjectType } from "../object-id.ts";
import { applyDelta, deltaResultSize } from "./delta.ts";
import { inflateExactly } from "./inflate.ts";
import { type PackIndex, readPackIndex } from "./pack-index.ts";

export interface GitObject {
  type: ObjectType;
  bytes: Uint8Array;
}

/** An object, or the news that it is over the caller's limit. */
export type ObjectRead = GitObject | { tooLarge: true };

export interface Pack {
  /** Undefined when this pack does not hold the object. The content is not checked against its id. */
  read(id: Buffer, maxBytes: number): Promise<ObjectRead | undefined>;
  close(): Promise<void>;
}

/** What stands at an offset of the pack before anything is resolved. */
interface Entry {
  kind: ObjectType | "delta";
  /** Bytes of the inflated content: of the object, or of the delta. */
  size: number;
  base?: number;
  content(): Promise<Uint8Array>;
}

const TYPES: Readonly<Record<number, ObjectType>> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" };
const OFFSET_DELTA = 6;
const ID_DELTA = 7;
/** Most spec files end within this, so that one read of the disk brings header and content. */
const FIRST_READ = 4096;
/** Chains share their bases; without this each of 2,000 similar files would rebuild its whole chain. */
const BASE_CACHE_BYTES = 32 * 1024 * 1024;
/** The most that Git itself writes; a damaged pack may name its bases in a circle. */
const LONGEST_CHAIN = 4096;

/**
 * Opens a pack by the path of its index. It is read in place, never as a whole: a repository may hold
 * gigabytes beside its agents.
 */
export async function openPack(indexFile: string): Promise<Pack> {
  const index = await readPackIndex(indexFile);
  const file = await open(indexFile.replace(/idx$/, "pack"));
  const resolve = createResolver(file, index);
  return {
    async read(id, maxBytes) {
      const offset = index.offsetOf(id);
      return offset === undefined ? undefined : await resolve(offset, maxBytes);
    },
    close: () => file.close(),
  };
}

function createResolver(file: FileHandle, index: PackIndex) {
  const bases = new Map<number, GitObject>();
  let held = 0;

  const keep = (offset: number, object: GitObject) => {
    if (bases.has(offset) || object.bytes.length > BASE_CACHE_BYTES / 4) return;
    bases.set(offset, object);
    held += object.bytes.length;
    for (const [oldest, old] of bases) {
      if (held <= BASE_CACHE_BYTES) break;
      bases.delete(oldest);
      held -= old.bytes.length;
    }
  };

  return async function resolve(start: number, maxBytes: number): Promise<ObjectRead> {
    const deltas: { offset: number; delta: Uint8Array }[] = [];
    let offset = start;
    let object = bases.get(offset);
    while (object === undefined) {
      const entry = await readEntry(file, index, offset);
      // Holds for deltas too: Git keeps none that is longer than what it makes.
      if (deltas.length === 0 && entry.size > maxBytes) return { tooLarge: true };
      const content = await entry.content();
      if (entry.kind === "delta") {
        if (deltas.length === 0 && deltaResultSize(content) > maxBytes) return { tooLarge: true };
        if (deltas.push({ offset, delta: content }) > LONGEST_CHAIN)
          throw new Error("endless chain of deltas");
        offset = baseOf(entry, offset);
        object = bases.get(offset);
      } else {
        object = { type: entry.kind, bytes: content };
        if (deltas.length > 0) keep(offset, object);
      }
    }
    for (const { offset: at, delta } of deltas.reverse()) {
      object = { type: object.type, bytes: applyDelta(object.bytes, delta) };
      keep(at, object);
    }
    return object.bytes.length > maxBytes ? { tooLarge: true } : object;
  };
}

function baseOf(entry: Entry, offset: number): number {
  if (entry.base === undefined || entry.base < 0) {
    throw new Error(`the delta at ${offset} of the pack has no base`);
  }
  return entry.base;
}

async function readEntry(file: FileHandle, index: PackIndex, offset: number): Promise<Entry> {
  const head = await readAt(file, offset, FIRST_READ);
  const { kind, size, headerBytes } = parseHeader(head);
  let at = headerBytes;
  let base: number | undefined;
  if (kind === OFFSET_DELTA) {
    const distance = parseDistance(head, at);
    base = offset - distance.value;
    at = distance.end;
  } else if (kind === ID_DELTA) {
    base = index.offsetOf(head.subarray(at, at + 20));
    at += 20;
  }
  const isDelta = kind === OFFSET_DELTA || kind === ID_DELTA;
  const type = isDelta ? "delta" : TYPES[kind];
  if (type === undefined) throw new Error(`the pack has an unknown kind of entry at ${offset}`);
  // The longest that zlib makes of `size` bytes, whatever its settings: the pack does not tell.
  const longest = size + Math.ceil(size / 8) + Math.ceil(size / 64) + 64;
  return {
    kind: type,
    size,
    ...(base === undefined ? {} : { base }),
    content: async () => {
      const fits = at + longest <= head.length || head.length < FIRST_READ;
      return inflateExactly(fits ? head.subarray(at) : await readAt(file, offset + at, longest), size);
    },
  };
}

/** Three bits of kind and a size of four bits, continued in groups of seven. */
function parseHeader(bytes: Buffer): { kind: number; size: number; headerBytes: number } {
  let byte = bytes.readUInt8(0);
  const kind = (byte >> 4) & 7;
  let size = byte & 15;
  let at = 1;
  for (let factor = 16; byte >= 128; factor *= 128) {
    byte = bytes.readUInt8(at++);
    size += (byte & 127) * factor;
  }
  return { kind, size, headerBytes: at };
}

/** Big-endian base 128 in which every continuation adds one, so that no number has two spellings. */
function parseDistance(bytes: Buffer, start: number): { value: number; end: number } {
  let at = start;
  let byte = bytes.readUInt8(at++);
  let value = byte & 127;
  while (byte >= 128) {
    byte = bytes.readUInt8(at++);
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, end: at };
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
